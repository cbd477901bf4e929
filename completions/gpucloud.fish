# fish completion of gpucloud: the program itself knows the words.

function __gpucloud_complete
    set -l words (commandline -opc)
    set -l cur (commandline -ct | string unescape)
    set -q cur[1]; or set cur (commandline -ct)
    set -q cur[1]; or set cur ''
    set -l program $words[1]
    command -q $program; or set program gpucloud
    command -q $program; or return
    $program __complete $words[2..-1] $cur[1] 2>/dev/null | while read -l line
        set -l parts (string split -m 1 \t -- $line)
        set -l path (string sub -s (math 1 + (string length -- "$parts[2]")) -- $cur[1])
        switch $parts[1]
            case ':file'
                for found in (__fish_complete_path $path)
                    printf '%s%s\n' $parts[2] $found
                end
            case ':dir'
                for found in (__fish_complete_directories $path '')
                    printf '%s%s\n' $parts[2] $found
                end
            case ':program'
                __fish_complete_command
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c gpucloud -f -a '(__gpucloud_complete)'
