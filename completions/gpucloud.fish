# fish completion of gpucloud: the program itself knows the words.

function __gpucloud_complete
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    $words[1] __complete $words[2..-1] "$cur" 2>/dev/null | while read -l line
        switch $line
            case ':file'
                __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$cur")
            case ':dir'
                __fish_complete_directories (string replace -r '^--[^=]*=' '' -- "$cur") ''
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c gpucloud -f -a '(__gpucloud_complete)'
