#include "core/metrics/base/code_place.hpp"

#include <fmt/format.h>

#include "core/metrics/base/stack_tree.hpp"

namespace sluice::metrics {

const code_place& code_places::of(trace::stack_id stack) {
  const auto [place, fresh] = known_.try_emplace(raw(stack));
  code_place& output = place->second;
  if (!fresh || names_ == nullptr || stack == trace::stack_id::none || tables_.stacks.find(stack) == nullptr)
    return output;
  const auto describe = [&](symbols::line_id line) {
    return names_->book.describe(std::span(&line, 1), tables_).front();
  };
  output.known = true;
  output.line = describe(who_->of(stack, symbols::attribution::line));
  output.caller = describe(who_->of(stack, symbols::attribution::caller));
  const symbols::line_id module = who_->of(stack, symbols::attribution::module);
  if (module != who_->unknown(symbols::attribution::module)) output.module = symbols::get_name(describe(module));
  output.maker = find_maker(stack);
  output.owned = !symbols::allocates_for_itself(describe(who_->of(stack, symbols::attribution::owner)).function);
  return output;
}

std::string code_places::find_maker(trace::stack_id stack) const {
  std::size_t left = stack_tree::max_depth;  // Parents in a damaged file may form a cycle.
  for (; stack != trace::stack_id::none && left > 0; --left) {
    const trace::stack_row* row = tables_.stacks.find(stack);
    if (row == nullptr) break;
    const trace::frame_row* frame = tables_.frames.find(row->frame);
    if (frame == nullptr) break;
    if (const std::string_view maker = framework_of(*frame, tables_); !maker.empty()) return std::string(maker);
    stack = row->parent;
  }
  return {};
}

std::string_view framework_of(const trace::frame_row& frame, const trace::tables& tables) {
  const bool native = frame.kind == trace::frame_kind::native;
  const std::string_view package = symbols::find_package(tables.text(native ? frame.module : frame.file));
  if (package == "torch") return "PyTorch";
  if (package == "cupy" || package == "cupyx" || package == "cupy_backends") return "CuPy";
  if (package == "jax" || package == "jaxlib") return "JAX";
  if (package == "numba" || package == "numba_cuda") return "Numba";
  return {};
}

std::string find_maker(const code_place& place, trace::layer layer) {
  if (!place.maker.empty()) return place.maker;
  return layer == trace::layer::framework ? "PyTorch" : "";
}

std::string to_text(const code_place& place) {
  if (!place.known) return {};
  const std::string where = symbols::get_place(place.line);
  const std::string name = symbols::get_name(place.line);
  if (where.empty()) return name;
  return name.empty() || name == where ? where : fmt::format("{} ({})", where, name);
}

}  // namespace sluice::metrics
