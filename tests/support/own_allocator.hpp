// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// IQD_COUNTS: whether memory can be counted, and a test may replace glibc's malloc. Not with sanitizers, which bring
/// their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IQD_COUNTS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IQD_COUNTS 0
#endif
#endif
#ifndef IQD_COUNTS
#define IQD_COUNTS 1
#endif
