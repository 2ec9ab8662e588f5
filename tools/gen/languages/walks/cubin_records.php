<?php
// Print the sections, attributes, symbols and relocations of cubins and fatbins.
ini_set('memory_limit', '-1');
// A class stands in a file of its name, a nested one in the file of the outermost.
spl_autoload_register(function (string $name): void {
    foreach ([str_replace('\\', '/', $name), explode('\\', $name)[0]] as $file) {
        if (stream_resolve_include_path("$file.php")) {
            require_once "$file.php";
            return;
        }
    }
});

function attributes(int $index, Eiattr $body): void
{
    foreach ($body->records() as $record) {
        echo "A $index {$record->format()} {$record->code()} {$record->value()}\n";
        if ($record->code() === 0x2f && $record->format() === 4) { // registers of a kernel
            echo "K {$record->payload()->symbol()} {$record->payload()->number()}\n";
        }
    }
}

function symbols(int $index, object $table): void
{
    foreach ($table->symbols() as $row) {
        $info = $row->stInfo();
        // Whole numbers have a sign in PHP.
        $place = sprintf('%u %u', $row->stValue(), $row->stSize());
        echo "Y $index {$row->name()} $place {$row->stShndx()} ",
            "{$info->symbolType()} {$info->binding()}\n";
    }
}

function relocations(int $index, object $table): void
{
    foreach ($table->relocations() as $row) {
        $info = method_exists($row, 'rInfo') ? $row->rInfo() : $row;
        $addend = method_exists($row, 'rAddend') ? $row->rAddend() : 0;
        echo "R $index {$row->rOffset()} {$info->rType()} {$info->rSym()} $addend\n";
    }
}

function body(int $index, object $content): void
{
    if ($content instanceof Mercury) {
        body($index, $content->content());
    } elseif ($content instanceof Eiattr) {
        attributes($index, $content);
    } elseif ($content instanceof ElfCuda\Symbols || $content instanceof Mercury\Symbols) {
        symbols($index, $content->table());
    } elseif ($content instanceof ElfCuda\Rel || $content instanceof ElfCuda\Rela
        || $content instanceof Mercury\Relocations) {
        relocations($index, $content->table());
    }
}

function cubin(ElfCuda $elf): void
{
    foreach ($elf->sections() as $index => $section) {
        echo "S $index {$section->name()} {$section->shType()} ",
            "{$section->shOffset()} {$section->shSize()}\n";
        if ($section->isInFile()) {
            body($index, $section->body());
        }
    }
}

function fatbin(Fatbin $file): void
{
    foreach ($file->blocks() as $block) {
        if ($block->magicKind() !== 1) {
            continue;
        }
        foreach ($block->content()->entries()->entries() as $entry) {
            $head = $entry->head();
            echo "E {$head->kind()} {$head->sm()} {$head->lenPayload()}\n";
            if ($entry->payloadKind() === 2) {
                cubin($entry->payload());
            }
        }
    }
}

foreach (array_slice($argv, 1) as $path) {
    echo "F $path\n";
    str_ends_with($path, '.fatbin') ? fatbin(Fatbin::fromFile($path)) : cubin(ElfCuda::fromFile($path));
}
