# bash completion of gpucloud: the program itself knows the words.

_gpucloud() {
  local IFS=$'\n' word line candidate cur lead=''
  local -a words=()
  local i

  # bash splits at = and :, the program wants the words as they were typed.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]})) && [[ $word == '=' && ${words[-1]} == --* ]]; then
      words[-1]+='='
      if ((i < COMP_CWORD)); then
        ((i++))
        words[-1]+=${COMP_WORDS[i]}
      fi
    else
      words+=("$word")
    fi
  done
  cur=${words[-1]}
  [[ $cur == --*=* ]] && lead=${cur%%=*}=

  COMPREPLY=()
  while IFS= read -r line; do
    candidate=${line%%$'\t'*}
    case $candidate in
      :file) COMPREPLY+=($(compgen -f -- "${cur#"$lead"}")) ;;
      :dir) COMPREPLY+=($(compgen -d -- "${cur#"$lead"}")) ;;
      *) COMPREPLY+=("${candidate#"$lead"}") ;;
    esac
  done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
}

complete -o filenames -F _gpucloud gpucloud
