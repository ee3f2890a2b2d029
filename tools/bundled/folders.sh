# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of a bundle: finds its parts, whatever its path.

here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
libraries=$here/lib
if [[ -d /usr/local/cuda/lib64 ]]; then libraries+=:/usr/local/cuda/lib64; fi
libraries+=${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
