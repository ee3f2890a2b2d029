# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
#
# Fish completion of iqd: asks the completion of bash, which lies beside this file, or where it is installed. Fish adds
# no space after = . and /.

set -g __iqd_completion (status dirname)/iqd
if not test -r $__iqd_completion
    set -g __iqd_completion (status dirname)/../../bash-completion/completions/iqd
end
function __iqd_matches
    bash $__iqd_completion (commandline -opc) (commandline -ct) 2>/dev/null
end
complete -c iqd -f -a '(__iqd_matches)'
