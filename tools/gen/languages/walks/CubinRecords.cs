// Print the sections, attributes, symbols and relocations of cubins and fatbins.
using System;
using System.IO;
using Kaitai;

class CubinRecords
{
    static readonly TextWriter Out = new StreamWriter(Console.OpenStandardOutput());

    static void Print(params object[] words)
    {
        Out.Write(string.Join(" ", words) + "\n");
    }

    static void Attributes(int index, Eiattr body)
    {
        foreach (var record in body.Records)
        {
            Print("A", index, (int)record.Format, (int)record.Code, record.Value);
            var value = record.Payload as Eiattr.FunctionValue;
            if (record.Code == CudaCodes.EiattrCode.EiattrRegcount && value != null)
                Print("K", value.Symbol, value.Number);
        }
    }

    static void Symbols(int index, KaitaiStruct table)
    {
        if (table is SymbolTable64)
            foreach (var row in ((SymbolTable64)table).Symbols)
                Symbol(index, row.Name, row.StValue, row.StSize, row.StShndx, row.StInfo);
        else
            foreach (var row in ((SymbolTable32)table).Symbols)
                Symbol(index, row.Name, row.StValue, row.StSize, row.StShndx, row.StInfo);
    }

    static void Symbol(int index, string name, ulong value, ulong size, int section, SymbolInfo info)
    {
        Print("Y", index, name, value, size, section, (int)info.SymbolType, (int)info.Binding);
    }

    static void Relocations(int index, KaitaiStruct table)
    {
        if (table is RelaTable64)
            foreach (var row in ((RelaTable64)table).Relocations)
                Print("R", index, row.ROffset, (int)row.RType, row.RSym, row.RAddend);
        else if (table is RelTable64)
            foreach (var row in ((RelTable64)table).Relocations)
                Print("R", index, row.ROffset, (int)row.RType, row.RSym, 0);
        else if (table is RelaTable32)
            foreach (var row in ((RelaTable32)table).Relocations)
                Print("R", index, row.ROffset, (int)row.RInfo.RType, row.RInfo.RSym, row.RAddend);
        else
            foreach (var row in ((RelTable32)table).Relocations)
                Print("R", index, row.ROffset, (int)row.RInfo.RType, row.RInfo.RSym, 0);
    }

    static void Body(int index, KaitaiStruct body)
    {
        if (body is Mercury) Body(index, ((Mercury)body).Content);
        else if (body is Eiattr) Attributes(index, (Eiattr)body);
        else if (body is ElfCuda.Symbols) Symbols(index, ((ElfCuda.Symbols)body).Table);
        else if (body is Mercury.Symbols) Symbols(index, ((Mercury.Symbols)body).Table);
        else if (body is ElfCuda.Rel) Relocations(index, ((ElfCuda.Rel)body).Table);
        else if (body is ElfCuda.Rela) Relocations(index, ((ElfCuda.Rela)body).Table);
        else if (body is Mercury.Relocations) Relocations(index, ((Mercury.Relocations)body).Table);
    }

    static void Cubin(ElfCuda elf)
    {
        int index = 0;
        foreach (var section in elf.Sections)
        {
            Print("S", index, section.Name, (int)section.ShType, section.ShOffset, section.ShSize);
            if (section.IsInFile) Body(index, section.Body);
            index++;
        }
    }

    static void Fat(Fatbin file)
    {
        foreach (var block in file.Blocks)
        {
            if (block.MagicKind != 1) continue;
            foreach (var entry in ((Fatbin.Container)block.Content).Entries.Entries)
            {
                Print("E", (int)entry.Head.Kind, entry.Head.Sm, entry.Head.LenPayload);
                if (entry.PayloadKind == 2) Cubin((ElfCuda)entry.Payload);
            }
        }
    }

    static void Main(string[] paths)
    {
        foreach (var path in paths)
        {
            Print("F", path);
            if (path.EndsWith(".fatbin")) Fat(Fatbin.FromFile(path));
            else Cubin(ElfCuda.FromFile(path));
        }
        Out.Flush();
    }
}
