// Print the kernels of cubins with their registers and parameters.
use cubin_kaitai::cuda_codes::CudaCodes_EiattrCode as Code;
use cubin_kaitai::eiattr::Eiattr_InfoRecord_Payload as Payload;
use cubin_kaitai::elf_cuda::{ElfCuda, ElfCuda_Section_Body as Body};
use kaitai::*;
use std::collections::HashMap;

fn cubin(elf: &ElfCuda) -> KResult<()> {
    let mut registers = HashMap::new(); // by the number of a function's symbol
    let mut kernels = Vec::new();
    for section in elf.sections()?.iter() {
        let Some(Body::Eiattr(info)) = section.body()?.clone() else { continue };
        for record in info.records().iter() {
            match (&*record.code(), &*record.payload()) {
                (Code::EiattrRegcount, Some(Payload::Eiattr_FunctionValue(value))) => {
                    registers.insert(*value.symbol(), *value.number());
                }
                // each kernel has this attribute, no other function does
                (Code::EiattrMaxregCount, _) => kernels.push((section.clone(), info.clone())),
                _ => {}
            }
        }
    }
    for (section, info) in kernels {
        let symbol = *elf.sections()?[*section.sh_info()? as usize].function_symbol()? as u32;
        println!("{} {}", section.name()?.replacen(".nv.info.", "", 1), registers[&symbol]);
        for record in info.records().iter() {
            let (ordinal, offset, size) = match &*record.payload() {
                Some(Payload::Eiattr_KparamInfo(p)) => (*p.ordinal(), *p.offset(), *p.bits().len_parameter()),
                Some(Payload::Eiattr_KparamInfoV2(p)) => (*p.ordinal(), *p.offset(), *p.bits().len_parameter()),
                _ => continue,
            };
            println!("  {ordinal} {offset} {size}");
        }
    }
    Ok(())
}

fn main() {
    for path in std::env::args().skip(1) {
        println!("{path}:");
        let bytes = BytesReader::from(std::fs::read(&path).expect("a file"));
        let elf = ElfCuda::read_into::<_, ElfCuda>(&bytes, None, None).expect("a cubin");
        cubin(&elf).expect("sound sections");
    }
}
