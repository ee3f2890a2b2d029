// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/transmit/aph_keys.hpp"
#include "pipeline/stages/transmit/aph_predistorter/aph_predistorter.hpp"

namespace iqd::aph_predistorter {
namespace {

constexpr float kNone = std::numeric_limits<float>::infinity();

bool is_float(std::complex<double> v) {
  constexpr double most = std::numeric_limits<float>::max();
  return std::abs(v.real()) <= most && std::abs(v.imag()) <= most;
}

template <class In, class Out> void run_block(const Setup& setup, const StageIo& io) noexcept {
  const auto x = io.in[0].as<const In>();
  const auto z = io.out[kOut].as<Out>();
  const std::int64_t before = io.out[kOut].first - io.in[0].first;
  const std::int64_t n = io.out[kOut].length;
  // Samples that are not new in this block were reported before.
  const std::int64_t begin = std::clamp<std::int64_t>(io.first_new - io.out[kOut].first, 0, n);
  const std::int64_t end = std::clamp<std::int64_t>(io.end_new - io.out[kOut].first, begin, n);
  float largest = 0;
  std::int64_t clipped = 0, not_finite = 0;
  for (std::int64_t row = 0; row < io.out[kOut].rows; ++row) {
    const auto run = [&](std::int64_t from, std::int64_t to) noexcept {
      Watch watch;
      const Row<In, Out> part{x.row(row).data() + before + from, before + from, z.row(row).data() + from, to - from};
      run_cpu(setup.model, setup.clip, part, watch, io.scratch);
      return watch;
    };
    run(0, begin);
    const Watch watch = run(begin, end);
    run(end, n);
    largest = std::max(largest, watch.largest);
    clipped += watch.clipped;
    not_finite += watch.not_finite;
  }
  if (float* const peak = io.out[kPeak].row<float>()) *peak = std::sqrt(largest);
  io.out[kTally].put_tally(std::array{clipped, not_finite});
  *io.out[kPeak].count = 1;
}

class AphPredistorterStage final : public Stage {
 public:
  void fields(FieldVisitor& v) override {
    v.field("coefficients", coefficients_,
            {.help = "h1 h3 … g1 g3 … c, each with its taps, that of the newest sample first; none: samples pass "
                     "unchanged",
             .live = true});
    v.field("basis", basis_,
            {.help = "basis of the coefficients: |x|^(p-1) x, or polynomials that are orthonormal for complex "
                     "Gaussian x",
             .live = true});
    v.field("power", power_,
            {.help = "E|x|^2 for which the orthogonal basis is orthonormal", .low = 1e-12, .high = 1e12, .live = true});
    keys_.fields(v);
    v.field("clip", clip_, {.help = "limit of |z|", .low = 1e-6, .high = 1e6, .live = true});
    v.field("output", output_, {.help = "output type: the input's, or cf32"});
    v.field("variant", variant_, {.help = "GPU kernels: `own`, or others for comparison"});
  }

  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (variant_ != Variant::own && in.element != Element::cf32)
      context.section.problem("variant", "only `own` takes sc16; the others need cf32");
    setup_ = {.model = read_model(context.section),
              .clip = clip_ ? static_cast<float>(*clip_) : kNone,
              .in = in.element,
              .out = output_ == Output::same ? in.element : Element::cf32,
              .variant = variant_,
              .most_new = context.most_new};
    context.footprint[0].past = setup_.model.taps - 1;
    context.scratch_bytes = scratch_bytes(setup_.model);
    context.chunk_exempt = true;  // one peak per block
    context.out[kOut].element = setup_.out;
    context.out[kPeak].hold_per_block(Element::f32, {{"peak", 1, {"peak"}}});
    context.out[kPeak].rows.clear();
    context.out[kTally].tally(kEvents);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "aph_predistorter")) return cuda(setup_);
    if (variant_ != Variant::own)
      throw SetupError("aph_predistorter: `variant` selects GPU kernels; remove it for the CPU");
    return cpu_run([setup = setup_](const StageIo& io) noexcept {
      if (setup.in == Element::cf32) return run_block<Complex, Complex>(setup, io);
      if (setup.out == Element::sc16) return run_block<sc16, sc16>(setup, io);
      run_block<sc16, Complex>(setup, io);
    });
  }

 private:
  /// The configured model, or the identity if there is a problem.
  Model read_model(const Section& section) const {
    const bool orthogonal = basis_ == AphBasis::orthogonal;
    if (power_ && !orthogonal) section.problem("power", "belongs to `basis: orthogonal`; leave it out");
    const AphOrders orders = keys_.orders();
    if (!aph::check(orders, coefficients_, section)) return let_through({});
    if (coefficients_.empty()) return let_through(orders);
    if (orthogonal && !power_) {
      section.problem("power", "missing: orthogonal coefficients need the E|x|^2 of their basis");
      return let_through(orders);
    }
    const auto monomial = orthogonal ? to_monomial(orders, coefficients_, *power_) : coefficients_;
    const auto bad = std::find_if_not(monomial.begin(), monomial.end(), is_float);
    if (bad == monomial.end()) return make_model(orders, monomial);
    section.problem("coefficients",
                    fmt::format("number {} is not finite, or too large for a float", bad - monomial.begin()));
    return let_through(orders);
  }
  static Model let_through(const AphOrders& orders) { return make_model(orders, aph_identity(orders)); }

  std::vector<std::complex<double>> coefficients_;
  AphBasis basis_ = AphBasis::monomial;
  std::optional<double> power_;
  aph::OrderKeys keys_;
  std::optional<double> clip_;
  Output output_ = Output::same;
  Variant variant_ = Variant::own;
  Setup setup_;
};

}  // namespace

StageEntry entry() {
  return {.family = "transmit",
          .name = "aph_predistorter",
          .summary = "predistorts the signal for a power amplifier, with a parallel Hammerstein model",
          .inputs = {{.name = "in", .elements = {Element::cf32, Element::sc16}}},
          .outputs = {{.name = "out"},
                      {.name = "peak", .can_omit = true, .levels = true},
                      {.name = "events", .tally = kEvents}},
          .make = make_stage<AphPredistorterStage>,
          .sample =
              "aph_predistorter: {coefficients: [1, 0.1, 0, 0, 0, -0.4, 0, 0, 0, 0, "
              "0.3, 0, 0, 0, 0, 0.05, 0, 0, 0, 0, 0.02, 0, 0, 0, 0, 0.01]}",
          .tolerance = 1e-6};
}

}  // namespace iqd::aph_predistorter
