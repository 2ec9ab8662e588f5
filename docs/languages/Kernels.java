// Print the kernels of cubins with their registers and parameters.
import cubinspec.*;
import cubinspec.CudaCodes.EiattrCode;
import java.util.*;

public class Kernels {
    static void cubin(ElfCuda elf) {
        Map<Long, Long> registers = new HashMap<>(); // by the number of a function's symbol
        Map<ElfCuda.Section, Eiattr> kernels = new LinkedHashMap<>();
        for (ElfCuda.Section section : elf.sections()) {
            if (section.shType() != CudaCodes.SectionType.SHT_CUDA_INFO) continue;
            Eiattr info = (Eiattr) section.body();
            for (Eiattr.InfoRecord record : info.records()) {
                if (record.code() == EiattrCode.EIATTR_REGCOUNT) {
                    Eiattr.FunctionValue value = (Eiattr.FunctionValue) record.payload();
                    registers.put(value.symbol(), value.number());
                } else if (record.code() == EiattrCode.EIATTR_MAXREG_COUNT) {
                    kernels.put(section, info); // each kernel has it, no other function does
                }
            }
        }
        kernels.forEach((section, info) -> {
            long symbol = elf.sections().get((int) (long) section.shInfo()).functionSymbol();
            System.out.println(section.name().substring(".nv.info.".length()) + " " + registers.get(symbol));
            for (Eiattr.InfoRecord record : info.records()) {
                if (record.payload() instanceof Eiattr.KparamInfo p)
                    print(p.ordinal(), p.offset(), p.bits().lenParameter());
                else if (record.payload() instanceof Eiattr.KparamInfoV2 p)
                    print(p.ordinal(), p.offset(), p.bits().lenParameter());
            }
        });
    }

    static void print(int ordinal, int offset, long size) {
        System.out.println("  " + ordinal + " " + offset + " " + size);
    }

    public static void main(String[] paths) throws java.io.IOException {
        for (String path : paths) {
            System.out.println(path + ":");
            cubin(ElfCuda.fromFile(path));
        }
    }
}
