// Print the sections, attributes, symbols and relocations of cubins and fatbins.

import cubinspec.*;
import io.kaitai.struct.KaitaiStruct;
import java.io.PrintStream;

public class CubinRecords {
    static final PrintStream out = new PrintStream(new java.io.BufferedOutputStream(System.out, 1 << 16));

    static void print(String form, Object... values) {
        out.println(String.format(form, values));
    }

    static void attributes(int index, Eiattr body) {
        for (Eiattr.InfoRecord record : body.records()) {
            // A code without a name is null in Java; its number is kept beside it.
            print("A %d %d %d %d", index, record.formatNumber(), record.codeNumber(), record.value());
            if (record.code() == CudaCodes.EiattrCode.EIATTR_REGCOUNT
                    && record.format() == CudaCodes.Eifmt.EIFMT_SVAL) {
                Eiattr.FunctionValue value = (Eiattr.FunctionValue) record.payload();
                print("K %d %d", value.symbol(), value.number());
            }
        }
    }

    static void symbol(int index, String name, long value, long size, int section, SymbolInfo info) {
        print("Y %d %s %s %s %d %d %d", index, name, Long.toUnsignedString(value),
            Long.toUnsignedString(size), section,
            info.symbolTypeNumber(), info.bindingNumber());
    }

    static void symbols(int index, KaitaiStruct table) {
        if (table instanceof SymbolTable64) {
            for (SymbolTable64.Symbol64 row : ((SymbolTable64) table).symbols())
                symbol(index, row.name(), row.stValue(), row.stSize(), row.stShndx(), row.stInfo());
        } else {
            for (SymbolTable32.Symbol32 row : ((SymbolTable32) table).symbols())
                symbol(index, row.name(), row.stValue(), row.stSize(), row.stShndx(), row.stInfo());
        }
    }

    static void relocation(int index, long offset, long type, long symbol, long addend) {
        print("R %d %d %d %d %d", index, offset, type, symbol, addend);
    }

    static void relocations(int index, KaitaiStruct table) {
        if (table instanceof RelaTable64)
            for (RelaTable64.Rela64 row : ((RelaTable64) table).relocations())
                relocation(index, row.rOffset(), row.rTypeNumber(), row.rSym(), row.rAddend());
        else if (table instanceof RelTable64)
            for (RelTable64.Rel64 row : ((RelTable64) table).relocations())
                relocation(index, row.rOffset(), row.rTypeNumber(), row.rSym(), 0);
        else if (table instanceof RelaTable32)
            for (RelaTable32.Rela32 row : ((RelaTable32) table).relocations())
                relocation(index, row.rOffset(), row.rInfo().rTypeNumber(), row.rInfo().rSym(), row.rAddend());
        else
            for (RelTable32.Rel32 row : ((RelTable32) table).relocations())
                relocation(index, row.rOffset(), row.rInfo().rTypeNumber(), row.rInfo().rSym(), 0);
    }

    static void body(int index, KaitaiStruct body) {
        if (body instanceof Mercury) body(index, ((Mercury) body).content());
        else if (body instanceof Eiattr) attributes(index, (Eiattr) body);
        else if (body instanceof ElfCuda.Symbols) symbols(index, ((ElfCuda.Symbols) body).table());
        else if (body instanceof Mercury.Symbols) symbols(index, ((Mercury.Symbols) body).table());
        else if (body instanceof ElfCuda.Rel) relocations(index, ((ElfCuda.Rel) body).table());
        else if (body instanceof ElfCuda.Rela) relocations(index, ((ElfCuda.Rela) body).table());
        else if (body instanceof Mercury.Relocations)
            relocations(index, ((Mercury.Relocations) body).table());
    }

    static void cubin(ElfCuda elf) {
        int index = 0;
        for (ElfCuda.Section section : elf.sections()) {
            long type = elf.sectionHeaders().get(index).shTypeNumber();
            print("S %d %s %d %d %d", index, section.name(), type, section.shOffset(), section.shSize());
            if (section.isInFile()) body(index, section.body());
            index++;
        }
    }

    static void fatbin(Fatbin file) {
        for (Fatbin.FatBlock block : file.blocks()) {
            if (block.magicKind() != 1) continue;
            for (Fatbin.Entry entry : ((Fatbin.Container) block.content()).entries().entries()) {
                Fatbin.EntryHead head = entry.head();
                print("E %d %d %d", head.kindNumber(), head.sm(), head.lenPayload());
                if (entry.payloadKind() == 2) cubin((ElfCuda) entry.payload());
            }
        }
    }

    public static void main(String[] paths) throws java.io.IOException {
        for (String path : paths) {
            print("F %s", path);
            if (path.endsWith(".fatbin")) fatbin(Fatbin.fromFile(path));
            else cubin(ElfCuda.fromFile(path));
        }
        out.flush();
    }
}
