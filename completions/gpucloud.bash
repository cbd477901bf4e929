# bash completion of gpucloud: the program itself knows the words.
# Needs nothing else; works from bash 3.2 on.

# Puts together what bash splits at = and : into $_gpucloud_words, up to the
# cursor; $_gpucloud_cut is what of the last one bash will not replace.
_gpucloud_split() {
  local i word line=${COMP_LINE:0:COMP_POINT} last=-1

  _gpucloud_words=() _gpucloud_cut=''
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    # the word under the cursor ends at the cursor
    if ((i == COMP_CWORD)); then
      while [[ -n $word && $line != "$word"* ]]; do word=${word%?}; done
    fi
    if ((last >= 0)) && [[ -n $word && $line == "$word"* ]]; then
      # no blank before it: it belongs to the word before
      _gpucloud_cut=${_gpucloud_words[last]}
      case $word in
        *[=:])
          ((i == COMP_CWORD)) && _gpucloud_cut+=$word
          ;;
      esac
      _gpucloud_words[last]+=$word
    else
      while [[ $line == [[:blank:]]* ]]; do line=${line#?}; done
      if ((i == COMP_CWORD)); then
        word=${COMP_WORDS[i]}
        while [[ -n $word && $line != "$word"* ]]; do word=${word%?}; done
      fi
      _gpucloud_cut=''
      _gpucloud_words[++last]=$word
    fi
    line=${line#"$word"}
  done
}

# A word without its quotes, into $_gpucloud_bare. Nothing is expanded.
_gpucloud_unquote() {
  local word=$1 quote='' c out=''

  while [[ -n $word ]]; do
    c=${word:0:1} word=${word:1}
    if [[ $c == "$quote" && -n $quote ]]; then
      quote=''
    elif [[ -z $quote && ($c == "'" || $c == '"') ]]; then
      quote=$c
    elif [[ $c == \\ && $quote != "'" ]]; then
      out+=${word:0:1} word=${word:1}
    else
      out+=$c
    fi
  done
  _gpucloud_bare=$out
}

_gpucloud() {
  local IFS=$'\n' program line candidate lead cur found
  local -a _gpucloud_words=() typed=()
  local _gpucloud_cut _gpucloud_bare i

  _gpucloud_split
  _gpucloud_unquote "${_gpucloud_words[0]}"
  program=${_gpucloud_bare/#\~\//$HOME/}
  # an alias, or a function
  type -P -- "$program" >/dev/null || program=gpucloud
  for ((i = 1; i < ${#_gpucloud_words[@]}; i++)); do
    _gpucloud_unquote "${_gpucloud_words[i]}"
    typed+=("$_gpucloud_bare")
  done
  ((${#typed[@]})) || typed=('')
  cur=$_gpucloud_bare
  _gpucloud_unquote "$_gpucloud_cut"

  COMPREPLY=()
  while read -r line; do
    candidate=${line%%$'\t'*} lead=${line#*$'\t'}
    case $candidate in
      :file) found=$(compgen -f -- "${cur#"$lead"}") ;;
      :dir) found=$(compgen -d -- "${cur#"$lead"}") ;;
      :program) found=$(compgen -c -- "$cur") ;;
      *)
        COMPREPLY+=("${candidate#"$_gpucloud_bare"}")
        continue
        ;;
    esac
    # quotes and the slash of a folder are readline's business
    [[ $candidate == :program ]] || compopt -o filenames 2>/dev/null
    while read -r candidate; do
      [[ -z $candidate ]] && continue
      candidate=$lead$candidate
      COMPREPLY+=("${candidate#"$_gpucloud_bare"}")
    done <<<"$found"
  done < <("$program" __complete "${typed[@]}" 2>/dev/null)
}

complete -F _gpucloud gpucloud
