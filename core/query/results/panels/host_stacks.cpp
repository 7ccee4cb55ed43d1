#include "core/query/types/host_stacks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/query/results/query_operator.hpp"
#include "core/query/results/stack_lines.hpp"
#include "core/trace/model/system_calls.hpp"

namespace sluice::query {
namespace {

/// Returns what a thread did, as a line below the code in which it did so.
std::string describe_state(const index::host_work& work) {
  static constexpr std::array<std::string_view, trace::host_state_count> words = {
      "state unknown", "running", "in the kernel", "waiting", "ready, not scheduled"};
  const auto state = std::min<std::size_t>(static_cast<std::size_t>(work.state), words.size() - 1);
  if (work.system_call < 0) return fmt::format("({})", words[state]);
  const std::string_view name = trace::name_of_system_call(work.system_call);
  return name.empty() ? fmt::format("({}: system call {})", words[state], work.system_call)
                      : fmt::format("({}: {})", words[state], name);
}

/// True if the recording has samples of host threads at any time. Reads at most the list of chunks.
bool has_host_samples(const trace::snapshot& trace) {
  bool found = false;
  trace.chunks_to_search().for_each([](trace::row_type type) { return type == trace::row_type::host_sample; },
                                    [&](std::size_t, const trace::chunk_info&) { found = true; });
  return found;
}

class host_stacks_of_parts final : public range_operator<host_stacks> {
 public:
  explicit host_stacks_of_parts(const host_stacks_query& query) : range_operator(query.filter.range), query_(query) {}

  result<void> add(const sources& source, time_range part) override {
    if (!use_) {
      devices_ = metrics::list_kernel_devices(source.index, source.trace.tables());
      metrics::host_use_filter filter = query_.filter;
      device_ = filter.device = metrics::choose_device(filter.device, devices_);
      use_.emplace(filter);
    }
    use_->add(source.index, source.trace.tables(), part, source.cancelled);
    if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    return {};
  }

  result<host_stacks> finish(const sources& source) override {
    host_stacks found;
    found.devices = devices_;
    found.device = device_;
    if (use_) {
      found.idle = use_->idle();
      found.launches_known = use_->launches_known();
    }
    found.sampled = has_host_samples(source.trace);
    return make_tree(source, std::move(found));
  }

 private:
  result<host_stacks> make_tree(const sources& source, host_stacks found) const {
    const trace::tables& tables = source.trace.tables();
    stack_view& view = found.view;
    view.recorded = !tables.stacks.rows().empty();
    view.time = query_.filter.range.begin;
    std::map<symbols::line_id, trace::host_state> states;
    std::vector<metrics::stack_part> parts;
    const auto shares = use_ ? use_->get_shares(tables) : std::vector<metrics::host_share>();
    for (const metrics::host_share& share : shares) {
      const metrics::stack_metrics sums{0, share.samples, share.time, 0};
      if (share.work.stack == trace::stack_id::none) view.without.add(sums);
      const symbols::line_id last = source.frames.remark(describe_state(share.work));
      states.emplace(last, share.work.state);
      parts.push_back({share.work.stack, last, sums});
    }
    const metrics::stack_lines lines = make_stack_lines(source, query_.fold, &view.symbols_pending);
    view.tree = metrics::merge_stacks(std::move(parts), tables, lines, query_.order, metrics::stack_weight::busy,
                                      source.cancelled);
    if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    source.provisional |= view.symbols_pending;
    // `put_lines` replaces ids by indices in the order in which the nodes first use them.
    std::map<symbols::line_id, std::uint32_t> first_node;
    for (std::uint32_t i = 1; i < view.tree.nodes.size(); ++i) first_node.emplace(view.tree.nodes[i].line, i);
    put_lines(source, view);
    for (const auto& [line, state] : states)
      if (const auto node = first_node.find(line); node != first_node.end())
        found.states.push_back({view.tree.nodes[node->second].line, state});
    return found;
  }

  const host_stacks_query query_;
  std::optional<metrics::host_use_builder> use_;
  std::vector<trace::device_id> devices_;
  std::optional<trace::device_id> device_;
};

}  // namespace

operator_of<host_stacks_query> make_operator(const host_stacks_query& query) {
  return std::make_unique<host_stacks_of_parts>(query);
}

}  // namespace sluice::query
