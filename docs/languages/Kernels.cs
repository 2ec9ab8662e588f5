// Print the kernels of cubins with their registers and parameters.
using System;
using System.Collections.Generic;
using Kaitai;
using Code = Kaitai.CudaCodes.EiattrCode;

class Kernels
{
    static void Cubin(ElfCuda elf)
    {
        var registers = new Dictionary<long, uint>(); // by the number of a function's symbol
        var kernels = new List<ElfCuda.Section>();
        foreach (var section in elf.Sections)
        {
            if (section.ShType != CudaCodes.SectionType.ShtCudaInfo) continue;
            foreach (var record in ((Eiattr)section.Body).Records)
            {
                var value = record.Payload as Eiattr.FunctionValue;
                if (record.Code == Code.EiattrRegcount) registers[value.Symbol] = value.Number;
                // each kernel has this attribute, no other function does
                if (record.Code == Code.EiattrMaxregCount) kernels.Add(section);
            }
        }
        foreach (var section in kernels)
        {
            long symbol = (long)elf.Sections[(int)section.ShInfo].FunctionSymbol;
            Console.WriteLine(section.Name.Substring(".nv.info.".Length) + " " + registers[symbol]);
            foreach (var record in ((Eiattr)section.Body).Records)
            {
                var one = record.Payload as Eiattr.KparamInfo;
                var two = record.Payload as Eiattr.KparamInfoV2;
                if (one != null) Print(one.Ordinal, one.Offset, one.Bits.LenParameter);
                if (two != null) Print(two.Ordinal, two.Offset, two.Bits.LenParameter);
            }
        }
    }

    static void Print(int ordinal, int offset, ulong size)
    {
        Console.WriteLine("  " + ordinal + " " + offset + " " + size);
    }

    static void Main(string[] paths)
    {
        foreach (var path in paths)
        {
            Console.WriteLine(path + ":");
            Cubin(ElfCuda.FromFile(path));
        }
    }
}
