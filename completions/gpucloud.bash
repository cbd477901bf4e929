# bash completion of gpucloud: the program itself knows the words.
# Needs nothing else; works from bash 3.2 on.

# Puts together what bash splits at =, : and @ into $_gpucloud_words, up to the
# cursor.
_gpucloud_split() {
  local i word line=${COMP_LINE:0:COMP_POINT} last=-1

  _gpucloud_words=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((last >= 0)) && [[ -n $word && $line != [[:blank:]]* ]]; then
      : # no blank before it: a part of the word before
    else
      while [[ $line == [[:blank:]]* ]]; do line=${line#?}; done
      _gpucloud_words[++last]=''
    fi
    # the word under the cursor ends at the cursor
    ((i < COMP_CWORD)) || word=$line
    _gpucloud_words[last]+=$word
    line=${line#"$word"}
  done
}

# A word without its quotes, into $_gpucloud_bare. Nothing is expanded.
_gpucloud_unquote() {
  local word=$1 quote='' c out=''

  while [[ -n $word ]]; do
    c=${word:0:1} word=${word:1}
    if [[ -n $quote && $c == "$quote" ]]; then
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
  local IFS=$'\n' program line candidate lead cur cut found i
  local -a _gpucloud_words=() typed=()
  local _gpucloud_bare

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
  cur=${typed[${#typed[@]} - 1]}
  # readline replaces $2 only, which may begin in the middle of our word
  _gpucloud_unquote "$2"
  cut=${cur%"$_gpucloud_bare"}

  COMPREPLY=()
  while read -r line; do
    candidate=${line%%$'\t'*} lead=${line#*$'\t'}
    case $candidate in
      :file) found=$(compgen -f -- "${cur#"$lead"}") ;;
      :dir) found=$(compgen -d -- "${cur#"$lead"}") ;;
      :program) found=$(compgen -c -- "$cur") ;;
      *)
        COMPREPLY+=("${candidate#"$cut"}")
        continue
        ;;
    esac
    # Quotes and the slash of a folder are readline's business, but for @FILE:
    # it would quote the @ too.
    [[ $candidate == :program || $2 == @* ]] ||
      compopt -o filenames 2>/dev/null
    while read -r candidate; do
      [[ -z $candidate ]] && continue
      [[ $2 == @* ]] && printf -v candidate %q "$candidate"
      candidate=$lead$candidate
      COMPREPLY+=("${candidate#"$cut"}")
    done <<<"$found"
  done < <("$program" __complete "${typed[@]}" 2>/dev/null)
}

complete -F _gpucloud gpucloud
