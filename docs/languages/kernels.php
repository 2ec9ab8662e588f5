<?php
// Print the kernels of cubins with their registers and parameters.
ini_set('memory_limit', '-1');
// A class stands in a file of its name, a nested one in the file of the outermost.
spl_autoload_register(function (string $name): void {
    $file = str_replace('\\', '/', $name) . '.php';
    require_once stream_resolve_include_path($file) ? $file : explode('\\', $name)[0] . '.php';
});
use CudaCodes\EiattrCode as Code;

function cubin(ElfCuda $elf): void
{
    $isInfo = fn ($section) => $section->shType() === CudaCodes\SectionType::SHT_CUDA_INFO;
    $registers = $kernels = []; // the first by the number of a function's symbol
    foreach (array_filter($elf->sections(), $isInfo) as $section) {
        foreach ($section->body()->records() as $record) {
            if ($record->code() === Code::EIATTR_REGCOUNT) {
                $registers[$record->payload()->symbol()] = $record->payload()->number();
            } elseif ($record->code() === Code::EIATTR_MAXREG_COUNT) {
                $kernels[] = $section; // each kernel has it, and no other function
            }
        }
    }
    foreach ($kernels as $section) {
        $symbol = $elf->sections()[$section->shInfo()]->functionSymbol();
        echo substr($section->name(), strlen('.nv.info.')), " {$registers[$symbol]}\n";
        foreach ($section->body()->records() as $record) {
            if (in_array($record->code(), [Code::EIATTR_KPARAM_INFO, Code::EIATTR_KPARAM_INFO_V2])) {
                $payload = $record->payload();
                echo "  {$payload->ordinal()} {$payload->offset()} {$payload->bits()->lenParameter()}\n";
            }
        }
    }
}

foreach (array_slice($argv, 1) as $path) {
    echo "$path:\n";
    cubin(ElfCuda::fromFile($path));
}
