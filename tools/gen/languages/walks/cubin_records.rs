// Print the sections, attributes, symbols and relocations of cubins and fatbins.
use kaitai::*;
use cubin_kaitai::eiattr::*;
use cubin_kaitai::elf_cuda::*;
use cubin_kaitai::fatbin::*;
use cubin_kaitai::mercury::*;
use cubin_kaitai::rel_table_32::RelTable32;
use cubin_kaitai::rel_table_64::RelTable64;
use cubin_kaitai::rela_table_32::RelaTable32;
use cubin_kaitai::rela_table_64::RelaTable64;
use cubin_kaitai::symbol_table_32::SymbolTable32;
use cubin_kaitai::symbol_table_64::SymbolTable64;
use std::fmt::Write;

type Out = String;
type Done = KResult<()>;

macro_rules! line {
    ($out:expr, $($words:tt)*) => { writeln!($out, $($words)*).expect("memory") };
}

fn number<T>(code: &T) -> i64
where
    for<'a> &'a T: Into<i64>,
{
    code.into()
}

fn attributes(out: &mut Out, index: usize, body: &Eiattr) -> Done {
    for record in body.records().iter() {
        let (format, code) = (number(&*record.format()), number(&*record.code()));
        line!(out, "A {index} {format} {code} {}", *record.value());
        if let Some(Eiattr_InfoRecord_Payload::Eiattr_FunctionValue(value)) = record.payload().as_ref() {
            if code == 0x2f {
                line!(out, "K {} {}", *value.symbol(), *value.number()); // registers
            }
        }
    }
    Ok(())
}

// The rows of both ELF classes have the same fields, but no common type.
macro_rules! symbols {
    ($out:expr, $index:expr, $table:expr) => {
        for row in $table.symbols().iter() {
            let info = row.st_info();
            let kinds = (number(&*info.symbol_type()), number(&*info.binding()));
            let place = (*row.st_value(), *row.st_size(), *row.st_shndx());
            line!($out, "Y {} {} {} {} {} {} {}", $index, *row.name()?, place.0, place.1, place.2,
                kinds.0, kinds.1);
        }
    };
}

fn symbols_64(out: &mut Out, index: usize, table: &SymbolTable64) -> Done {
    symbols!(out, index, table);
    Ok(())
}

fn symbols_32(out: &mut Out, index: usize, table: &SymbolTable32) -> Done {
    symbols!(out, index, table);
    Ok(())
}

fn rela_64(out: &mut Out, index: usize, table: &RelaTable64) -> Done {
    for row in table.relocations().iter() {
        let kind = number(&*row.r_type());
        line!(out, "R {index} {} {kind} {} {}", *row.r_offset(), *row.r_sym(), *row.r_addend());
    }
    Ok(())
}

fn rela_32(out: &mut Out, index: usize, table: &RelaTable32) -> Done {
    for row in table.relocations().iter() {
        let info = row.r_info();
        let kind = number(&*info.r_type());
        line!(out, "R {index} {} {kind} {} {}", *row.r_offset(), *info.r_sym(), *row.r_addend());
    }
    Ok(())
}

fn rel_64(out: &mut Out, index: usize, table: &RelTable64) -> Done {
    for row in table.relocations().iter() {
        let kind = number(&*row.r_type());
        line!(out, "R {index} {} {kind} {} 0", *row.r_offset(), *row.r_sym());
    }
    Ok(())
}

fn rel_32(out: &mut Out, index: usize, table: &RelTable32) -> Done {
    for row in table.relocations().iter() {
        let info = row.r_info();
        let kind = number(&*info.r_type());
        line!(out, "R {index} {} {kind} {} 0", *row.r_offset(), *info.r_sym());
    }
    Ok(())
}

fn mercury(out: &mut Out, index: usize, body: &Mercury) -> Done {
    match body.content().as_ref() {
        Some(Mercury_Content::Eiattr(info)) => attributes(out, index, info),
        Some(Mercury_Content::Mercury_Symbols(content)) => match content.table().as_ref() {
            Some(Mercury_Symbols_Table::SymbolTable64(table)) => symbols_64(out, index, table),
            Some(Mercury_Symbols_Table::SymbolTable32(table)) => symbols_32(out, index, table),
            _ => Ok(()),
        },
        Some(Mercury_Content::Mercury_Relocations(content)) => match content.table().as_ref() {
            Some(Mercury_Relocations_Table::RelaTable64(table)) => rela_64(out, index, table),
            Some(Mercury_Relocations_Table::RelaTable32(table)) => rela_32(out, index, table),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn cubin(out: &mut Out, elf: &ElfCuda) -> Done {
    for (index, section) in elf.sections()?.iter().enumerate() {
        let kind = number(&*section.sh_type());
        let place = (*section.sh_offset()?, *section.sh_size()?);
        line!(out, "S {index} {} {kind} {} {}", *section.name()?, place.0, place.1);
        if !*section.is_in_file()? {
            continue;
        }
        match section.body()?.as_ref() {
            Some(ElfCuda_Section_Body::Eiattr(info)) => attributes(out, index, info)?,
            Some(ElfCuda_Section_Body::Mercury(content)) => mercury(out, index, content)?,
            Some(ElfCuda_Section_Body::ElfCuda_Symbols(content)) => match content.table().as_ref() {
                Some(ElfCuda_Symbols_Table::SymbolTable64(table)) => symbols_64(out, index, table)?,
                Some(ElfCuda_Symbols_Table::SymbolTable32(table)) => symbols_32(out, index, table)?,
                _ => {}
            },
            Some(ElfCuda_Section_Body::ElfCuda_Rel(content)) => match content.table().as_ref() {
                Some(ElfCuda_Rel_Table::RelTable64(table)) => rel_64(out, index, table)?,
                Some(ElfCuda_Rel_Table::RelTable32(table)) => rel_32(out, index, table)?,
                _ => {}
            },
            Some(ElfCuda_Section_Body::ElfCuda_Rela(content)) => match content.table().as_ref() {
                Some(ElfCuda_Rela_Table::RelaTable64(table)) => rela_64(out, index, table)?,
                Some(ElfCuda_Rela_Table::RelaTable32(table)) => rela_32(out, index, table)?,
                _ => {}
            },
            _ => {}
        }
    }
    Ok(())
}

fn fatbin(out: &mut Out, file: &Fatbin) -> Done {
    for block in file.blocks().iter() {
        let Some(Fatbin_FatBlock_Content::Fatbin_Container(container)) = &*block.content() else {
            continue;
        };
        for entry in container.entries().entries().iter() {
            let head = entry.head();
            line!(out, "E {} {} {}", number(&*head.kind()), *head.sm(), *head.len_payload());
            if let Some(Fatbin_Entry_Payload::ElfCuda(elf)) = &*entry.payload() {
                cubin(out, elf)?;
            }
        }
    }
    Ok(())
}

fn main() {
    let mut out = Out::new();
    for path in std::env::args().skip(1) {
        line!(out, "F {path}");
        let bytes = BytesReader::from(std::fs::read(&path).expect("a file"));
        let done = if path.ends_with(".fatbin") {
            Fatbin::read_into::<_, Fatbin>(&bytes, None, None).and_then(|file| fatbin(&mut out, &file))
        } else {
            ElfCuda::read_into::<_, ElfCuda>(&bytes, None, None).and_then(|elf| cubin(&mut out, &elf))
        };
        done.expect("a cubin or a fatbin");
    }
    print!("{out}");
}
