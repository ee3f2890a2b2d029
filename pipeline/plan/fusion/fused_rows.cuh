// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Included by the text of a fused kernel; compiled at run time, so without a library. The text defines
//
//   struct Fused {
//     using Inputs = Ports<Port<0, X0>, Port<1, X1> …>;
//     using Outputs = Ports<Port<0, Y0> …>;
//     void operator()(X0 x0, X1 x1 …, Y0& y0 …, long long index) const;
//   };
//
// and a kernel that passes it to map_elements. As in gpu/map_rows.cuh, a thread issues all its loads before it uses the
// first value, and values between an element's calls stay in registers.
#pragma once

#include "pipeline/plan/fusion/fused_job.hpp"

namespace iqd::fusion {

template <int number, class T> struct Port {
  using Type = T;
  static constexpr int kNumber = number;
};
template <class... P> struct Ports {};

/// One access to memory.
template <class T, int n> struct Vector { T at[n]; };
template <int bytes> struct WordOf;
template <> struct WordOf<1> { using Type = unsigned char; };
template <> struct WordOf<2> { using Type = unsigned short; };
template <> struct WordOf<4> { using Type = unsigned int; };
template <> struct WordOf<8> { using Type = uint2; };
template <> struct WordOf<16> { using Type = uint4; };
template <class V> using Word = typename WordOf<sizeof(V)>::Type;

/// The values of a thread at one port: `accesses` accesses of `width` elements.
template <class P, int accesses, int width> struct Lane {
  using V = Vector<typename P::Type, width>;
  V at[accesses];

  __device__ static char* place(const JobPort* ports, long long element) {
    const JobPort& port = ports[P::kNumber];
    return port.data + blockIdx.y * port.pitch + element * static_cast<long long>(sizeof(typename P::Type));
  }
  __device__ void load(const JobPort* ports, long long element, int a) {
    at[a] = __builtin_bit_cast(V, *reinterpret_cast<const Word<V>*>(place(ports, element)));
  }
  __device__ void store(const JobPort* ports, long long element, int a) const {
    *reinterpret_cast<Word<V>*>(place(ports, element)) = __builtin_bit_cast(Word<V>, at[a]);
  }
};

template <class P, int accesses, int width> struct Lanes;
template <class... P, int accesses, int width> struct Lanes<Ports<P...>, accesses, width>
    : Lane<P, accesses, width>... {
  template <class Q> using Of = Lane<Q, accesses, width>;

  __device__ void load(const JobPort* ports, long long element, int a) {
    (static_cast<Of<P>&>(*this).load(ports, element, a), ...);
  }
  __device__ void store(const JobPort* ports, long long element, int a) const {
    (static_cast<const Of<P>&>(*this).store(ports, element, a), ...);
  }
  __device__ static bool aligned(const JobPort* ports, long long element) {
    return ((reinterpret_cast<unsigned long long>(Of<P>::place(ports, element)) % sizeof(typename Of<P>::V) == 0) &&
            ... && true);
  }
};

template <class Fused, class... X, class... Y, int accesses, int width>
__device__ void call(const Fused& fused, const Lanes<Ports<X...>, accesses, width>& in,
                     Lanes<Ports<Y...>, accesses, width>& out, int a, int i, long long index) {
  fused(static_cast<const Lane<X, accesses, width>&>(in).at[a].at[i]...,
        static_cast<Lane<Y, accesses, width>&>(out).at[a].at[i]..., index);
}

/// n elements from `first` on, or as many as the accesses of the thread block cover; a partial access is left out.
template <int accesses, int width, class Fused>
__device__ void map_piece(const Fused& fused, const Job& job, long long first, int n, long long index) {
  Lanes<typename Fused::Inputs, accesses, width> in;
  Lanes<typename Fused::Outputs, accesses, width> out;
  const auto place = [](int a) { return (a * kJobThreads + static_cast<int>(threadIdx.x)) * width; };
#pragma unroll
  for (int a = 0; a < accesses; ++a)
    if (place(a) + width <= n) in.load(job.in, first + place(a), a);
#pragma unroll
  for (int a = 0; a < accesses; ++a) {
    if (place(a) + width > n) continue;
#pragma unroll
    for (int i = 0; i < width; ++i) call(fused, in, out, a, i, index + place(a) + i);
    out.store(job.out, first + place(a), a);
  }
}

/// The smallest count of the inputs holds; one thread writes it to the outputs.
__device__ inline long long count_positions(const Job& job) {
  int count = *job.count_in[0];
  for (int i = 1; i < job.inputs; ++i) count = min(count, *job.count_in[i]);
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0)
    for (int o = 0; o < job.outputs; ++o) *job.count_out[o] = count;
  return count;
}

/// The work of a thread block: tile blockIdx.x of row blockIdx.y.
template <int accesses, int width, class Fused> __device__ void map_elements(const Fused& fused, const Job& job) {
  constexpr int kSingly = 4;  // accesses of a thread if rows are not aligned
  const long long positions = job.varies ? count_positions(job) : job.positions;
  const long long first = static_cast<long long>(blockIdx.x) * job.tile;
  const long long left = positions * job.item - first;
  const int n = static_cast<int>(left < job.tile ? left : job.tile);
  if (n <= 0) return;
  // Read by each thread: if no call uses the index, the compiler removes it.
  const long long index = *job.first_at * job.item + first;
  int done = 0;
  if (Lanes<typename Fused::Inputs, accesses, width>::aligned(job.in, first) &&
      Lanes<typename Fused::Outputs, accesses, width>::aligned(job.out, first)) {
    map_piece<accesses, width>(fused, job, first, n, index);
    done = n / width * width;
  }
#pragma unroll 1
  for (; done < n; done += kSingly * kJobThreads)
    map_piece<kSingly, 1>(fused, job, first + done, n - done, index + done);
}

}  // namespace iqd::fusion
