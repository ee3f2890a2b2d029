// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Preloaded by tests/arm64/inside: a CPU without AES instructions, like the Raspberry Pi 4's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/auxv.h>

unsigned long getauxval(unsigned long type) {
  unsigned long (*const original)(unsigned long) = (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
  const unsigned long value = original(type);
  return type == AT_HWCAP ? value & ~(unsigned long)HWCAP_AES : value;
}
