// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/stage_keys.hpp"

#include <fmt/format.h>

#include <cmath>

#include "config/document.hpp"
#include "daemon/command/stage_keys.hpp"

namespace iqd::fuzz {
namespace {

template <class... F> struct Each : F... { using F::operator()...; };
template <class... F> Each(F...) -> Each<F...>;

/// In quotes, so that any text is valid.
std::string in_quotes(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    all += c;
  }
  return all + '"';
}

/// A node in flow style, as in braces.
std::string flow(const Node& node) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  switch (node.kind()) {
    case Node::Kind::map:
      for (const auto& [key, value] : node.entries()) add(key + ": " + flow(value));
      return "{" + text + "}";
    case Node::Kind::sequence:
      for (const Node& item : node.items()) add(flow(item));
      return "[" + text + "]";
    case Node::Kind::scalar: return in_quotes(node.scalar());
    default: return "~";
  }
}

/// Writes a value for each visited field: a drawn one, or the sample's.
class KeyWriter final : public FieldVisitor {
 public:
  KeyWriter(Bytes& bytes, const Node& sample) : bytes_(bytes), sample_(sample) {}

  void visit(std::string_view key, FieldRef field, const FieldInfo& info) override {
    const std::size_t what = bytes_.below(4);
    const Node kept = sample_[key];
    if (const auto* group = std::get_if<GroupRef>(&field); group && what != 1) {
      if (!kept && what != 2) return;
      KeyWriter inside(bytes_, kept);
      group->fields(inside);
      return add(key, "{" + inside.text_ + "}");
    }
    if (what <= 1 && kept) return add(key, flow(kept));
    if (what >= 2) add(key, value(field, info));
  }
  const std::string& text() const { return text_; }

 private:
  void add(std::string_view key, const std::string& value) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "" : ", ", key, value);
  }
  /// Larger values only take time, and find nothing.
  static constexpr int kMost = 5000;
  double number(const FieldInfo& info) {
    constexpr double kNumbers[] = {1, 0, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 63, 64, 100, 128, 255, 256, 500, 1000, 1024};
    switch (bytes_.below(6)) {
      case 0: return bytes_.pick(kNumbers);
      case 1: return std::isfinite(info.low) ? info.low : -1;
      case 2: return std::min<double>(info.high, kMost);
      case 3: return bytes_.take<std::int8_t>();
      case 4: return bytes_.take<std::uint16_t>() % kMost;
      default: return -bytes_.pick(kNumbers);
    }
  }
  std::string whole(const FieldInfo& info) { return fmt::format("{}", std::llround(number(info))); }
  std::string real(const FieldInfo& info) {
    constexpr double kScales[] = {1, 0.1, 1e-3, 1e-9, 1e3, 1e6, 1e12, 1e-300, 1e300, M_PI, 0.5, 0.25};
    return fmt::format("{}", number(info) * bytes_.pick(kScales));
  }
  std::string complex(const FieldInfo& info) { return fmt::format("[{}, {}]", real(info), real(info)); }
  template <class F> std::string list(F item) {
    std::string text;
    for (std::size_t n = bytes_.below(7); n > 0; --n) text += (text.empty() ? "" : ", ") + item();
    return "[" + text + "]";
  }
  /// Some of the default's words, or bits.
  std::string word(const std::vector<std::string>& usual) {
    constexpr std::string_view kWords[] = {"0",    "1",   "10",   "1011", "1010101010101010", "0xACDDA4E2", "hann",
                                           "none", "all", "auto", "",     "@none.npy"};
    const std::size_t at = bytes_.below(usual.size() + std::size(kWords));
    return in_quotes(at < usual.size() ? std::string_view(usual[at]) : kWords[at - usual.size()]);
  }
  std::string value(const FieldRef& field, const FieldInfo& info) {
    return std::visit(Each{[&](bool*) { return std::string(bytes_.flag() ? "true" : "false"); },
                           [&](std::int64_t*) { return whole(info); }, [&](double*) { return real(info); },
                           [&](std::complex<double>*) { return complex(info); },
                           [&](std::optional<double>*) { return bytes_.flag() ? "none" : real(info); },
                           [&](std::vector<std::int64_t>*) { return list([&] { return whole(info); }); },
                           [&](std::vector<double>*) { return list([&] { return real(info); }); },
                           [&](std::vector<std::complex<double>>*) { return list([&] { return complex(info); }); },
                           [&](std::string* now) { return word({*now}); },
                           [&](std::vector<std::string>* now) { return list([&] { return word(*now); }); },
                           [&](StringMap*) { return std::string("{a: b}"); },
                           [&](const EnumRef& e) { return in_quotes(bytes_.pick(e.names)); },
                           [&](const GroupRef&) { return std::string("~"); }},
                      field);
  }

  Bytes& bytes_;
  Node sample_;
  std::string text_;
};

}  // namespace

std::string keys_from(Bytes& bytes, const StageEntry& entry) {
  Problems problems;
  const Document sample = parse_document(sample_keys(entry), "sample", problems);
  KeyWriter writer(bytes, sample.root);
  entry.make()->fields(writer);
  return "{" + writer.text() + "}";
}

}  // namespace iqd::fuzz
