// Imports Nsight Systems' SQLite exports,
// https://docs.nvidia.com/nsight-systems/UserGuide/index.html#sqlite-schema-reference. Empty tables may be missing, and
// columns differ between versions, so tables and columns are looked up by name.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "core/base/format.hpp"
#include "core/import/call_table.hpp"
#include "core/import/graph_parts.hpp"
#include "core/import/importers.hpp"
#include "core/import/kernel_overruns.hpp"
#include "core/import/nsys/checks.hpp"
#include "core/import/nsys/enums.hpp"
#include "core/import/nsys/graphs.hpp"
#include "core/import/nsys/memory.hpp"
#include "core/import/nsys/places.hpp"
#include "core/import/nsys/ranges.hpp"
#include "core/import/nsys/stacks.hpp"
#include "core/import/nsys/tables.hpp"

namespace sluice::importing {
namespace {

using namespace nsys_enums;
using nsys::cells;

constexpr std::string_view calls_name = "CUDA calls";

class nsys_importer {
 public:
  nsys_importer(job& work, const nsys_database& database)
      : work_(work),
        from_(database),
        out_(work.out()),
        places_(out_),
        stacks_(out_),
        graphs_(out_),
        memory_(out_, places_, checks_),
        ranges_(out_, places_, checks_) {}

  result<void> run() {
    find_counter_types();
    make_plans();
    std::vector<nsys_plan> plans;
    std::uint64_t total = 0, done = 0;
    for (const step& each : steps_) {
      plans.push_back(each.plan);
      for (const auto& table : from_.tables())
        if (table.name == each.plan.table) total += table.rows;
    }
    nsys_reader reader(from_, std::move(plans));
    if (auto started = reader.start(); !started) return started;
    while (const nsys_reader::batch* batch = reader.next()) {
      step& now = steps_[batch->plan];
      take_rows(batch->rows, now);
      now.rows += batch->rows.size();
      done += batch->rows.size();
      if (auto on = work_.advance(static_cast<double>(done) / static_cast<double>(std::max(total, done + 1))); !on)
        return on;
    }
    for (const auto& broken : reader.broken()) {
      const std::string_view name = steps_[broken.plan].plan.table;
      work_.not_understood("tables that cannot be read completely: " + std::string(name.substr(0, 60)));
      work_.say(trace::severity::warning, broken.why.to_string());
    }
    finish();
    return {};
  }

 private:
  struct step {
    nsys_plan plan;
    std::string_view label;  ///< The name for the report; empty if the rows are not reported.
    std::function<void(const cells&)> take;
    std::size_t begin = no_column, end = no_column;  ///< The columns with the times of the rows.
    std::uint64_t rows = 0;
  };
  static constexpr std::size_t no_column = SIZE_MAX;

  /// Skips and counts rows with impossible times.
  void take_rows(const nsys_rows& rows, const step& now) {
    if (now.begin != no_column) checks_.learn(rows, now.begin);
    const bool is_work = now.plan.table.starts_with("CUPTI_ACTIVITY_KIND_") && now.label != calls_name;
    const bool is_nvtx = now.plan.table == "NVTX_EVENTS";  // Some of its rows are names.
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const cells row{rows, rows.row(i)};
      if (now.begin != no_column && row.has(now.begin)) {
        const time_ns begin = row.number(now.begin);
        if (!checks_.happened(begin)) continue;
        if (is_work && now.end != no_column && !checks_.ran(begin, row.end(now.end))) continue;
        if (!is_nvtx) checks_.note(begin);
      }
      now.take(row);
    }
  }

  /// Since 2025.6 the rows of a table are unordered. Rows with a time are read in order of time, and at equal times in
  /// order of their calls; other tables are sorted by all columns, except those whose order is irrelevant. Tables that
  /// are already sorted by time keep their order, except memory events, where the calls show which of two at the same
  /// time came first.
  void set_order(nsys_plan& subject, bool is_referred_to) const {
    static constexpr std::string_view unordered[] = {"StringIds", "CUDA_CALLCHAINS", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"};
    if (std::find(std::begin(unordered), std::end(unordered), subject.table) != std::end(unordered)) return;
    for (const char* first : {"start", "timestamp", "correlationId"})
      for (const nsys_column& each : subject.columns)
        if (std::string_view(each.name) == first) subject.order.push_back(each.name);
    const bool has_time = !subject.order.empty() && std::string_view(subject.order.front()) != "correlationId";
    const bool is_memory = subject.table == "CUDA_GPU_MEMORY_USAGE_EVENTS" && from_.has(subject.table, "correlationId");
    subject.in_time = has_time && !is_referred_to && !is_memory;
    for (const nsys_column& each : subject.columns)
      if (std::find(subject.order.begin(), subject.order.end(), each.name) == subject.order.end())
        subject.order.push_back(each.name);
  }

  template <class Take>
  void plan(std::string_view table, std::span<const nsys_column> columns, std::size_t required,
            std::string_view subject, Take take, std::string_view where = {}) {
    if (!from_.has(table)) return;
    known_.emplace_back(table);
    for (std::size_t i = 0; i < required; ++i) {
      if (from_.has(table, columns[i].name)) continue;
      work_.not_understood("tables without the column '" + std::string(columns[i].name) + "': " + std::string(table));
      return;
    }
    step output{{table, columns, required, where, {}}, subject, [this, take](const cells& row) { (this->*take)(row); }};
    set_order(output.plan, subject.empty());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string_view name = columns[i].name;
      if (name == "start") output.begin = i;
      if (name == "end") output.end = i;
    }
    steps_.push_back(std::move(output));
  }

  void make_plans() {
    using self = nsys_importer;
    // Tables that other rows refer to come first.
    plan("StringIds", nsys::strings::columns, 2, {}, &self::take_string);
    plan("TARGET_INFO_CUDA_DEVICE", nsys::cuda_device::columns, 3, {}, &self::take_ordinal);
    plan("TARGET_INFO_GPU", nsys::gpu::columns, 2, "devices", &self::take_gpu);
    plan("TARGET_INFO_CUDA_STREAM", nsys::stream::columns, 2, {}, &self::take_stream);
    plan("TARGET_INFO_CUDA_NULL_STREAM", nsys::null_stream::columns, 2, {}, &self::take_null_stream);
    plan("TARGET_INFO_CUDA_CONTEXT_INFO", nsys::null_stream::newer_columns, 2, {}, &self::take_null_stream);
    plan("PROCESSES", nsys::process::columns, 2, {}, &self::take_process);
    plan("ThreadNames", nsys::thread_name::columns, 2, {}, &self::take_thread_name);
    plan("CUDA_CALLCHAINS", nsys::frame::columns, 3, "stack frames", &self::take_frame);
    plan("CUPTI_ACTIVITY_KIND_RUNTIME", nsys::call::columns, 3, calls_name, &self::take_call);
    plan("CUPTI_ACTIVITY_KIND_DRIVER", nsys::call::columns, 3, calls_name, &self::take_call);
    plan("CUPTI_ACTIVITY_KIND_KERNEL", nsys::kernel::columns, 2, "kernels", &self::take_kernel);
    plan("CUPTI_ACTIVITY_KIND_MEMCPY", nsys::copy::columns, 2, "copies", &self::take_copy);
    plan("CUPTI_ACTIVITY_KIND_MEMSET", nsys::memset::columns, 2, "memsets", &self::take_memset);
    plan("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", nsys::sync::columns, 2, "synchronisations", &self::take_sync);
    plan("CUPTI_ACTIVITY_KIND_CUDA_EVENT", nsys::record::columns, 1, "event records", &self::take_record);
    plan("CUDA_GRAPH_EVENTS", nsys::graph::columns, 1, "graph events", &self::take_graph);
    plan("CUDA_GRAPH_NODE_EVENTS", nsys::graph::columns, 1, "graph node events", &self::take_graph);
    plan("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", nsys::graph_launch::columns, 2, "graph launches", &self::take_graph_launch);
    plan("CUDA_GPU_MEMORY_USAGE_EVENTS", nsys::memory::columns, 4, "allocations and frees", &self::take_memory);
    plan("CUDA_UM_GPU_PAGE_FAULT_EVENTS", nsys::fault::columns, 1, "GPU page faults", &self::take_gpu_fault);
    plan("CUDA_UM_CPU_PAGE_FAULT_EVENTS", nsys::fault::columns, 1, "CPU page faults", &self::take_cpu_fault);
    plan("NVTX_EVENTS", nsys::nvtx::columns, 3, {}, &self::take_domain, "eventType=75");
    plan("NVTX_EVENTS", nsys::nvtx::columns, 3, "NVTX events", &self::take_nvtx, is_range_);
    if (!is_counter_.empty())
      plan("NVTX_EVENTS", nsys::counter::columns, 3, "NVTX counter samples", &self::take_counter, is_counter_);
    plan("OSRT_API", nsys::system_call::columns, 3, "system calls", &self::take_system_call);
    plan("ENUM_DIAGNOSTIC_SEVERITY_LEVEL", nsys::event_type::columns, 2, {}, &self::take_severity);
    plan("DIAGNOSTIC_EVENT", nsys::diagnostic::columns, 2, "profiler messages", &self::take_diagnostic);
  }

  /// Finds the types of NVTX_EVENTS that are samples of counters by the names of types in the file.
  void find_counter_types() {
    is_range_ = "eventType<>75";
    if (!from_.has("ENUM_NSYS_EVENT_TYPE", "id")) return;
    std::string numbers;
    nsys_rows rows;
    const auto take = [&](const nsys_rows* got) {
      for (std::size_t i = 0; i < got->size(); ++i) {
        const cells row{*got, got->row(i)};
        const std::string_view name = row.text(nsys::event_type::name);
        if (!name.starts_with("Nvtx") || name.find("Counter") == std::string_view::npos) continue;
        numbers += (numbers.empty() ? "" : ",") + std::to_string(row.number(nsys::event_type::id));
      }
      return true;
    };
    static_cast<void>(from_.read(
        "ENUM_NSYS_EVENT_TYPE", nsys::event_type::columns, {}, {}, 1024, [&] { return &rows; }, take));
    if (numbers.empty()) return;
    is_counter_ = "eventType IN (" + numbers + ")";
    is_range_ += " AND eventType NOT IN (" + numbers + ")";
  }

  // --- what rows refer to -------------------------------------------------------------------------------------------

  void take_string(const cells& row) {
    places_.add_string(row.number(nsys::strings::id), row.text(nsys::strings::value));
  }

  void take_ordinal(const cells& row) {
    places_.add_ordinal(row.number(nsys::cuda_device::gpu), row.number(nsys::cuda_device::ordinal),
                        row.number(nsys::cuda_device::pid));
    const std::int64_t own = row.number(nsys::cuda_device::gpu), said = row.number(nsys::cuda_device::ordinal);
    ordinals_.try_emplace(own, said);
    // If several processes have one GPU each, each of them calls it 0.
    const auto [known, fresh] = gpus_.try_emplace(said, own);
    ordinals_differ_ = ordinals_differ_ || (!fresh && known->second != own);
  }

  void take_gpu(const cells& row) {
    using namespace nsys::gpu;
    const std::int64_t own = row.number(id);
    const auto found = ordinals_.find(own);
    const std::int64_t said = ordinals_differ_           ? own
                              : found != ordinals_.end() ? found->second
                                                         : row.number(ordinal, own);
    places_.add_gpu(
        {own, said, row.number(memory), row.number(major), row.number(minor), row.text(name), row.text(uuid)});
  }

  void take_stream(const cells& row) {
    places_.add_stream(row.number(nsys::stream::pid), row.number(nsys::stream::id), row.number(nsys::stream::priority),
                       false);
  }
  void take_null_stream(const cells& row) {
    places_.add_stream(row.number(nsys::null_stream::pid), row.number(nsys::null_stream::id), 0, true);
  }
  void take_process(const cells& row) {
    places_.name_process(row.number(nsys::process::global), row.text(nsys::process::name));
  }
  void take_thread_name(const cells& row) {
    places_.name_thread(row.number(nsys::thread_name::global), places_.string(row.number(nsys::thread_name::name)));
  }

  void take_frame(const cells& row) {
    if (!stacks_.add_frame(row, places_)) fault("frames deeper than 4096");
  }

  // --- calls and work -----------------------------------------------------------------------------------------------

  static std::uint64_t get_key(std::int64_t global, std::int64_t correlation) {
    if (correlation <= 0) return 0;
    return nsys_places::process_bits(global) << 32U ^ static_cast<std::uint64_t>(correlation);
  }

  void take_call(const cells& row) {
    using namespace nsys::call;
    const auto where = places_.thread(row.number(thread));
    trace::api_call_event event;
    event.time = row.number(begin);
    event.end = checked_end(event.time, row.end(end));
    event.process = where.process;
    event.thread = where.thread;
    const std::int64_t name_id = row.number(name);
    event.name = places_.string(name_id);
    event.status = row.number(status);
    event.correlation = row.natural(correlation);
    if (row.has(chain)) event.stack = stacks_.of(row.number(chain));
    call_table::call call;
    call.id = static_cast<trace::event_id>(out_.add(event));
    call.begin = event.time;
    call.thread = static_cast<std::uint32_t>(raw(event.thread));
    call.process = static_cast<std::uint32_t>(raw(event.process)) & 0x7fff'ffffU;
    calls_.put(get_key(row.number(thread), row.number(correlation)), call);
  }

  /// Sets the members that all device work has. Returns the call that requested the work.
  template <class Row>
  const call_table::call* fill(Row& output, const cells& row) {
    using namespace nsys::work;
    output.time = row.number(begin);
    output.end = checked_end(output.time, row.end(end));
    const auto where =
        places_.work(row.number(process), row.number(device), row.number(context), row.number(stream, -1));
    output.process = where.process;
    if constexpr (requires { output.device; }) output.device = where.device;
    if constexpr (requires { output.context; }) output.context = where.context;
    output.stream = where.stream;
    if constexpr (requires { output.correlation; }) output.correlation = row.natural(correlation);
    if constexpr (requires { output.graph_node; }) {
      output.graph_node = row.natural(graph_node);
      graph_work_ += output.graph_node != 0 ? 1 : 0;
    }
    const call_table::call* call = calls_.find(get_key(row.number(process), row.number(correlation)));
    if (call == nullptr) return nullptr;
    output.thread = call->get_thread();
    if constexpr (requires { output.call; }) output.call = call->id;
    if constexpr (requires { output.enqueued; }) output.enqueued = call->begin;
    return call;
  }

  void take_kernel(const cells& row) {
    using namespace nsys::kernel;
    trace::kernel_event kernel_row;
    fill(kernel_row, row);
    const std::size_t best = row.has(name) ? name : row.has(short_name) ? short_name : mangled_name;
    kernel_row.name = places_.string(row.number(best));
    kernel_row.registers = row.small(registers);
    kernel_row.grid_x = row.small(grid_x);
    kernel_row.grid_y = row.small(grid_y);
    kernel_row.grid_z = row.small(grid_z);
    kernel_row.block_x = row.small(block_x);
    kernel_row.block_y = row.small(block_y);
    kernel_row.block_z = row.small(block_z);
    kernel_row.static_shared = row.natural(static_shared);
    kernel_row.dynamic_shared = row.natural(dynamic_shared);
    overruns_.add(kernel_row);
    out_.add(kernel_row);
  }

  void take_copy(const cells& row) {
    using namespace nsys::copy;
    if (row.number(kind) >= first_managed_copy) {
      trace::migration_event moved;
      const auto where = places_.work(row.number(nsys::work::process), row.number(nsys::work::device),
                                      row.number(nsys::work::context), row.number(nsys::work::stream, -1));
      moved.time = row.number(nsys::work::begin);
      moved.end = checked_end(moved.time, row.end(nsys::work::end));
      moved.process = where.process;
      moved.device = where.device;
      moved.direction = get_direction(row.number(kind));
      moved.bytes = row.natural(bytes);
      moved.address = static_cast<std::uint64_t>(row.number(address));
      moved.cause = get_cause(row.number(cause));
      out_.add(moved);
      return;
    }
    trace::transfer_event event;
    fill(event, row);
    event.bytes = row.natural(bytes);
    event.direction = get_direction(row.number(kind));
    event.source_kind = get_kind(row.number(source_kind, -1));
    event.destination_kind = get_kind(row.number(destination_kind, -1));
    if (row.has(source_device)) event.peer = places_.device(row.number(nsys::work::process), row.number(source_device));
    event.copies = std::max<std::uint32_t>(1, row.small(copies));
    parts_.add(event, [this](const trace::transfer_event& whole) { out_.add(whole); });
  }

  void take_memset(const cells& row) {
    trace::memset_event event;
    fill(event, row);
    event.bytes = row.natural(nsys::memset::bytes);
    event.value = row.natural(nsys::memset::value);
    event.kind = get_kind(row.number(nsys::memset::kind, -1));
    out_.add(event);
  }

  void take_sync(const cells& row) {
    using enum trace::sync_kind;
    static constexpr std::array kinds = {unknown, event, stream_wait, stream, context};
    trace::sync_event sync_event;
    fill(sync_event, row);
    const std::int64_t type = row.number(nsys::sync::type);
    if (type >= 0 && type < static_cast<std::int64_t>(kinds.size()))
      sync_event.kind = kinds[static_cast<std::size_t>(type)];
    out_.add(sync_event);
  }

  /// Reads an event record. The file does not have its time, so it gets the start time of its call.
  void take_record(const cells& row) {
    using namespace nsys::record;
    const call_table::call* call = calls_.find(get_key(row.number(process), row.number(correlation)));
    if (call == nullptr) {
      fault("event records without a time, because their call is not in the file");
      return;
    }
    trace::event_record_event record_event;
    record_event.time = call->begin;
    record_event.process = call->find_process();
    record_event.thread = call->get_thread();
    record_event.handle = row.natural(event);
    record_event.stream =
        places_.work(row.number(process), row.number(device), row.number(context), row.number(stream, -1)).stream;
    out_.add(record_event);
  }

  /// Reads the creation of a graph or a node, which becomes a range on its thread. A graph also gets a definition.
  void take_graph(const cells& row) {
    using namespace nsys::graph;
    trace::host_range_event event = ranges_.get_range(row, thread, begin, end);
    event.name = places_.string(row.number(name));
    event.domain = out_.intern("CUDA graphs");
    event.id = trace::event_id{out_.add(event)};
    graphs_.add(row, event);
  }

  void take_graph_launch(const cells& row) {
    trace::graph_launch_event event;
    fill(event, row);
    event.graph = graphs_.launched(row, event);
    out_.add(event);
    ++graph_launches_;
    if (event.end != trace::unknown_time) graph_time_ += event.end - event.time;
  }

  // --- memory -------------------------------------------------------------------------------------------------------

  void take_memory(const cells& row) {
    using namespace nsys::memory;
    memory_.take(row, calls_.find(get_key(row.number(process), row.number(correlation))));
  }

  void take_gpu_fault(const cells& row) { count_faults(row, "GPU page faults", true); }
  void take_cpu_fault(const cells& row) { count_faults(row, "CPU page faults", false); }

  void count_faults(const cells& row, std::string_view name, bool on_device) {
    using namespace nsys::fault;
    const trace::process_id owner = places_.process(row.number(process));
    const trace::device_id where =
        on_device ? places_.device(row.number(process), row.number(device)) : trace::device_id::none;
    const auto [known, fresh] = counters_.try_emplace({owner, where});
    if (fresh) {
      trace::counter_row about;
      about.id = known->second = places_.new_counter();
      about.process = owner;
      about.device = where;
      about.name = out_.intern(name);
      out_.add(about);
    }
    trace::counter_event event;
    event.time = row.number(time);
    event.process = owner;
    event.counter = known->second;
    event.value = static_cast<double>(row.number(number, 1));
    out_.add(event);
  }

  // --- ranges, counters, messages -----------------------------------------------------------------------------------

  void take_domain(const cells& row) { ranges_.take_domain(row); }
  void take_nvtx(const cells& row) { ranges_.take_nvtx(row); }
  void take_counter(const cells& row) { ranges_.take_counter(row); }
  void take_system_call(const cells& row) { ranges_.take_system_call(row); }

  void take_severity(const cells& row) {
    using namespace nsys::event_type;
    const std::string_view word = row.text(name);
    severities_[row.number(id)] = word.find("rror") != std::string_view::npos  ? trace::severity::error
                                  : word.find("arn") != std::string_view::npos ? trace::severity::warning
                                                                               : trace::severity::info;
  }

  /// Reads the profiler's messages about itself, such as why nothing was recorded.
  void take_diagnostic(const cells& row) {
    using namespace nsys::diagnostic;
    constexpr std::size_t max_messages = 100;
    if (diagnostics_.size() >= max_messages) {
      fault("profiler messages beyond the first " + std::to_string(max_messages));
      return;
    }
    const std::string text(row.text(text_).substr(0, 4096));
    if (text.empty() || !diagnostics_.insert(text).second) return;
    const auto known = severities_.find(row.number(severity));
    trace::severity options = trace::severity::info;
    if (known != severities_.end()) {
      options = known->second;
    } else if (row.number(severity) >= 2) {
      options = row.number(severity) == 2 ? trace::severity::warning : trace::severity::error;
    }
    work_.say(options, "Nsight Systems: " + text);
  }

  // --- the rest -----------------------------------------------------------------------------------------------------

  time_ns checked_end(time_ns begin, time_ns end, bool must_end = true) {
    return checks_.get_end(begin, end, must_end);
  }

  void fault(const std::string& subject) { checks_.fault(subject); }

  void finish() {
    parts_.finish([this](const trace::transfer_event& whole) { out_.add(whole); });
    for (const step& each : steps_)
      if (!each.label.empty() && each.rows != 0) work_.read(each.label, each.rows);
    if (graph_work_ != 0) work_.read("kernels, copies and memsets of graph nodes, included above", graph_work_);
    work_.set_begin(memory_.finish(checks_.begin()));
    for (const auto& [subject, number] : checks_.faults()) work_.not_understood(subject, number);
    if (overruns_.found() != 0) work_.not_understood(kernel_overruns::words, overruns_.found());
    if (parts_.joined() != 0) work_.not_understood(graph_parts::words, parts_.joined());
    if (graph_launches_ != 0 && graph_work_ == 0) {
      work_.say(trace::severity::warning,
                "the kernels and copies of graphs were not recorded, but only " + std::to_string(graph_launches_) +
                    " graph launches, which ran for " + format_time(graph_time_) +
                    "; to see their kernels, record with nsys profile --cuda-graph-trace=node");
    }
    if (places_.missing_strings() != 0)
      work_.not_understood("names whose text is not in the file", places_.missing_strings());
    for (const auto& table : from_.tables()) {
      const std::string_view name = table.name;
      const bool about = name.starts_with("ENUM_") || name.starts_with("META_DATA") ||
                         name.starts_with("TARGET_INFO") || name == "EXPORT_META_DATA";
      const bool taken = std::find(known_.begin(), known_.end(), name) != known_.end();
      if (about || taken || table.rows == 0) continue;
      work_.not_understood("rows of the table " + table.name.substr(0, 80), from_.count_rows(table.name));
    }
  }

  job& work_;
  const nsys_database& from_;
  trace::file_writer& out_;
  nsys_places places_;
  std::vector<step> steps_;
  std::vector<std::string_view> known_;
  std::map<std::int64_t, std::int64_t> ordinals_;  ///< For each GPU, the ordinal that a process uses.
  std::map<std::int64_t, std::int64_t> gpus_;      ///< For each ordinal, the GPU.
  bool ordinals_differ_ = false;                   ///< True if processes use one ordinal for several GPUs.
  nsys_stacks stacks_;
  nsys_graphs graphs_;
  std::uint64_t graph_work_ = 0;  ///< The number of rows of work that graph nodes requested.
  std::uint64_t graph_launches_ = 0;
  time_ns graph_time_ = 0;  ///< The total run time of the launched graphs, in ns.
  call_table calls_;
  std::map<std::pair<trace::process_id, trace::device_id>, trace::counter_id> counters_;
  nsys_checks checks_;
  nsys_memory memory_;
  nsys_ranges ranges_;
  kernel_overruns overruns_;
  graph_parts parts_;
  /// The conditions that select ranges and counters among the rows of NVTX_EVENTS.
  std::string is_range_, is_counter_;
  std::map<std::int64_t, trace::severity> severities_;
  std::set<std::string> diagnostics_;
};

/// Returns CLOCK_REALTIME at the session's time 0, or 0 if the file does not have it.
std::int64_t session_start(const nsys_database& database) {
  static constexpr nsys_column column[] = {{"utcEpochNs"}};
  std::int64_t start = 0;
  nsys_rows rows;
  if (!database.has("TARGET_INFO_SESSION_START_TIME", "utcEpochNs")) return 0;
  static_cast<void>(database.read(
      "TARGET_INFO_SESSION_START_TIME", column, {}, {}, 1, [&] { return &rows; },
      [&](const nsys_rows* got) {
        if (got->size() != 0 && got->row(0)[0] > 0) start = got->row(0)[0];
        return false;
      }));
  return start;
}

}  // namespace

result<void> import_nsys_sqlite(job& work) {
  if (work.source().compressed()) {
    return work.corrupt("is a compressed SQLite file, which cannot be read in place", 0, "decompress it first");
  }
  const auto source = nsys_database::open(work.source().path());
  if (!source) return tl::unexpected<error>(source.error());
  const bool known = std::any_of(source->tables().begin(), source->tables().end(), [](const auto& table) {
    const std::string_view name = table.name;
    return name == "StringIds" || name == "NVTX_EVENTS" || name.starts_with("CUPTI_ACTIVITY_KIND_") ||
           name.starts_with("CUDA_GPU_") || name.starts_with("TARGET_INFO_");
  });
  // nvprof's files have tables of the same names, but keep texts in another table.
  if (source->has("StringTable") || source->has("CUPTI_ACTIVITY_KIND_KERNEL", "_id_") ||
      source->has("CUPTI_ACTIVITY_KIND_RUNTIME", "_id_")) {
    return fail(error_code::foreign, "is a file of nvprof or the Visual Profiler, which is not supported",
                work.source().path(), "record with Nsight Systems: nsys profile, then nsys export --type sqlite");
  }
  if (!known) {
    return fail(error_code::foreign, "is an SQLite file, but has no table of an Nsight Systems export",
                work.source().path(), "create one with nsys export --type sqlite");
  }
  if (auto begun = work.begin(session_start(*source)); !begun) return begun;
  if (source->half_written()) {
    work.not_understood("unfinished transaction, with a journal next to the file (the file may be incomplete)");
  }
  return nsys_importer(work, *source).run();
}

}  // namespace sluice::importing
