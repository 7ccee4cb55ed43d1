#include "core/import/torch/snapshot.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace sluice::importing {
namespace torch {
namespace {

/// The meaning of a text as a key or an action. It is determined only once per text, because pickles store each text
/// once.
enum class word : std::uint8_t {
  unlearned,
  unknown,
  // These are keys.
  action,
  addr,
  address,
  allocated_size,
  active_size,
  blocks,
  cpp_frames,
  device,
  device_free,
  forward_frames,
  frames,
  history,
  is_expandable,
  name,
  pool_id,
  real_size,
  requested_size,
  segment_pool_id,
  segment_type,
  size,
  stage,
  state,
  stream,
  time_us,
  total_size,
  compile_context,
  user_metadata,
  // These are actions.
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  oom,
  snapshot,
  workspace_snapshot,
  annotate,
  // These are states, types and stages.
  active_allocated,
  active_awaiting_free,
  active_pending_free,
  inactive,
  small,
  large,
  start,
  end,
};

constexpr std::pair<std::string_view, word> words[] = {
    {"action", word::action},
    {"addr", word::addr},
    {"address", word::address},
    {"allocated_size", word::allocated_size},
    {"active_size", word::active_size},
    {"blocks", word::blocks},
    {"cpp_frames", word::cpp_frames},
    {"device", word::device},
    {"device_free", word::device_free},
    {"forward_frames", word::forward_frames},
    {"frames", word::frames},
    {"history", word::history},
    {"is_expandable", word::is_expandable},
    {"name", word::name},
    {"pool_id", word::pool_id},
    {"real_size", word::real_size},
    {"requested_size", word::requested_size},
    {"segment_pool_id", word::segment_pool_id},
    {"segment_type", word::segment_type},
    {"size", word::size},
    {"stage", word::stage},
    {"state", word::state},
    {"stream", word::stream},
    {"time_us", word::time_us},
    {"total_size", word::total_size},
    {"compile_context", word::compile_context},
    {"user_metadata", word::user_metadata},
    {"alloc", word::alloc},
    {"free_requested", word::free_requested},
    {"free_completed", word::free_completed},
    {"segment_alloc", word::segment_alloc},
    {"segment_free", word::segment_free},
    {"segment_map", word::segment_map},
    {"segment_unmap", word::segment_unmap},
    {"oom", word::oom},
    {"snapshot", word::snapshot},
    {"workspace_snapshot", word::workspace_snapshot},
    {"annotate", word::annotate},
    {"active_allocated", word::active_allocated},
    {"active_awaiting_free", word::active_awaiting_free},
    {"active_pending_free", word::active_pending_free},
    {"inactive", word::inactive},
    {"small", word::small},
    {"large", word::large},
    {"START", word::start},
    {"END", word::end},
};

action get_action(word w) {
  switch (w) {
    case word::alloc:
      return action::alloc;
    case word::free_requested:
      return action::free_requested;
    case word::free_completed:
      return action::free_completed;
    case word::segment_alloc:
      return action::segment_alloc;
    case word::segment_free:
      return action::segment_free;
    case word::segment_map:
      return action::segment_map;
    case word::segment_unmap:
      return action::segment_unmap;
    case word::oom:
      return action::out_of_memory;
    case word::snapshot:
      return action::snapshot;
    case word::workspace_snapshot:
      return action::workspace_snapshot;
    case word::annotate:
      return action::annotate;
    default:
      return action::other;
  }
}

constexpr std::uint64_t max_bytes = std::uint64_t{1} << 62;
constexpr std::int64_t latest_us = INT64_MAX / 4000;  // This time is still valid in ns and after an addition.

class reader {
 public:
  reader(const pickle_document& document, job& work)
      : from_(document), work_(work), learned_(document.texts()), seen_(document.containers()) {}

  result<snapshot> run() {
    const pickle_value& root = from_.root();
    const auto* segments = root.is(pickle_kind::list) ? &root : from_.find(root, "segments");
    const auto* host_segments = from_.find(root, "host_segments");
    const auto* traces = from_.find(root, "device_traces");
    const auto* host_traces = from_.find(root, "host_traces");
    const bool states = segments != nullptr && looks_like_segments(*segments);
    if (!states && traces == nullptr && host_traces == nullptr) {
      return fail(error_code::foreign, "is not a PyTorch memory snapshot, because it has no 'segments' and no traces",
                  work_.source().path(), "expected the output of torch.cuda.memory._dump_snapshot");
    }
    if (segments != nullptr) read_segments(*segments, made_.segments);
    if (host_segments != nullptr) read_segments(*host_segments, made_.host_segments);
    if (traces != nullptr) {
      std::int64_t device = 0;
      for (const pickle_value& each : from_.items(*traces)) {
        if (auto done = read_history(each, false, device++); !done) return tl::unexpected(done.error());
      }
    }
    if (host_traces != nullptr) {
      if (auto done = read_host(*host_traces); !done) return tl::unexpected(done.error());
    }
    if (const auto* list = from_.find(root, "external_annotations")) read_annotations(*list);
    if (const auto* settings = from_.find(root, "allocator_settings")) made_.settings = *settings;
    read_limits(root);
    count_other_keys(root);
    return std::move(made_);
  }

 private:
  word meaning(const pickle_value& value) {
    if (!value.is(pickle_kind::text)) return word::unknown;
    word& known = learned_[value.index()];
    if (known == word::unlearned) {
      const std::string_view text = from_.text(value);
      const auto* found =
          std::find_if(std::begin(words), std::end(words), [&](const auto& w) { return w.first == text; });
      known = found == std::end(words) ? word::unknown : found->second;
    }
    return known;
  }

  /// True for the first use of a container. A shared container may be in many lists, but is read only once.
  bool first_time(const pickle_value& container) {
    if (seen_[container.index()] != 0) {
      work_.not_understood("lists that occur in the snapshot twice");
      return false;
    }
    seen_[container.index()] = 1;
    return true;
  }

  bool looks_like_segments(const pickle_value& list) const {
    if (!list.is(pickle_kind::list)) return false;
    const auto items = from_.items(list);
    return items.empty() ? !from_.root().is(pickle_kind::list) : from_.find(items[0], "blocks") != nullptr;
  }

  static std::uint32_t get_container(const pickle_value& v) {
    return v.is(pickle_kind::list) || v.is(pickle_kind::tuple) ? v.index() : no_container;
  }

  /// Reads an address. Addresses of Intel's GPUs are above 2^63, and some writers store them as negative numbers.
  /// Returns false if the address is invalid.
  bool take_address(const pickle_value& v, std::uint64_t& into) {
    // The lowest address of the upper half of 48-bit addresses.
    constexpr std::int64_t lowest_kernel_half = -(std::int64_t{1} << 47);
    if (const auto natural = from_.natural(v)) {
      into = *natural;
      return true;
    }
    const std::int64_t said = from_.integer(v);
    if (!v.is(pickle_kind::integer) || said < lowest_kernel_half || said > -4096) return false;
    into = static_cast<std::uint64_t>(said);
    return true;
  }
  /// Reads a size. Returns false if it is invalid.
  bool take(const pickle_value& v, std::uint64_t& into) {
    const std::int64_t said = from_.integer(v);
    if (!v.is(pickle_kind::integer) || said < 0 || static_cast<std::uint64_t>(said) >= max_bytes) return false;
    into = static_cast<std::uint64_t>(said);
    return true;
  }
  /// Reads a stream handle, which may be any number.
  bool take_handle(const pickle_value& v, std::uint64_t& into) {
    if (const auto natural = from_.natural(v)) {
      into = *natural;
      return true;
    }
    if (!v.is(pickle_kind::integer)) return false;
    into = static_cast<std::uint64_t>(from_.integer(v));
    return true;
  }
  bool take_time(const pickle_value& v, std::int64_t& into) {
    const std::int64_t said = from_.integer(v);
    if (!v.is(pickle_kind::integer) || said < 0 || said > latest_us) return false;
    into = said;
    return true;
  }
  bool take_pool(const pickle_value& v, pool_name& into) {
    const auto pair = from_.items(v);
    if (pair.size() != 2 || !pair[0].is(pickle_kind::integer) || !pair[1].is(pickle_kind::integer)) return false;
    into = {from_.integer(pair[0]), from_.integer(pair[1])};
    return true;
  }
  void take_pool(const pickle_value& v, history_entry& into) {
    pool_name name;
    if (!take_pool(v, name)) return;
    auto& known = pools_[name];
    if (known == 0) {
      made_.pools.push_back(name);
      known = static_cast<std::uint32_t>(made_.pools.size());
    }
    into.pool = known;
  }
  bool take_device(const pickle_value& v, std::int64_t& into) {
    const std::int64_t said = from_.integer(v);
    if (!v.is(pickle_kind::integer) || said < -1 || said > 4096) return false;
    into = said;
    return true;
  }

  result<void> read_host(const pickle_value& traces) {
    const auto items = from_.items(traces);
    // There is one list of entries, or one list per device as in device traces.
    if (!items.empty() && items[0].is(pickle_kind::dictionary)) return read_history(traces, true, -1);
    for (const pickle_value& each : items) {
      if (auto done = read_history(each, true, -1); !done) return done;
    }
    return {};
  }

  result<void> read_history(const pickle_value& list, bool host, std::int64_t device) {
    if (!list.is(pickle_kind::list)) work_.not_understood("traces that are not lists");
    if (from_.items(list).empty() || !list.is(pickle_kind::list) || !first_time(list)) return {};
    history output;
    output.host = host;
    output.device = device;
    const auto items = from_.items(list);
    output.entries.reserve(items.size());
    for (const pickle_value& each : items) {
      read_entry(each, output);
      if (output.entries.size() % 8192 == 0) {
        if (auto ready = work_.advance(0.5); !ready) return ready;
      }
    }
    work_.read(host ? "entries of pinned memory" : "trace entries", output.entries.size());
    if (!output.entries.empty()) made_.histories.push_back(std::move(output));
    return {};
  }

  void read_entry(const pickle_value& value, history& into) {
    if (!value.is(pickle_kind::dictionary)) return work_.not_understood("entries that are not dictionaries");
    history_entry output;
    const auto number = static_cast<std::uint32_t>(into.entries.size());
    const std::size_t extras_before = into.extras.size();
    const pickle_value* action_text = nullptr;
    bool good = true, good_time = true;
    const pickle_pairs items = from_.pairs(value);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const pickle_value& v = items.value(i);
      switch (meaning(items.key(i))) {
        case word::action:
          action_text = &v;
          output.kind = get_action(meaning(v));
          break;
        case word::addr:
        case word::device_free:
          good = take_address(v, output.address) && good;
          break;
        case word::size:
          good = take(v, output.bytes) && good;
          break;
        case word::stream:
          good = take_handle(v, output.stream) && good;
          break;
        case word::time_us:
          good_time = take_time(v, output.time_us);
          break;
        case word::frames:
          output.frames = get_container(v);
          break;
        case word::forward_frames:
          output.forward_frames = get_container(v);
          break;
        case word::pool_id:
          take_pool(v, output);
          break;
        case word::compile_context:
          if (v.is(pickle_kind::text) && from_.text(v) != "N/A" && !from_.text(v).empty()) {
            into.extras.push_back({number, "compile_context", v});
          }
          break;
        default:
          keep(items.key(i), v, number, into);
          break;
      }
    }
    if (output.kind == action::other) {
      into.extras.resize(extras_before);
      const std::string_view text = action_text == nullptr ? std::string_view{} : from_.text(*action_text);
      return work_.not_understood("entries with the action '" + std::string(text.substr(0, 40)) + "'");
    }
    if (!good || output.bytes > UINT64_MAX - output.address) {
      into.extras.resize(extras_before);
      return work_.not_understood("entries with an impossible address or size");
    }
    if (!good_time) work_.not_understood("entries with an impossible time; estimated from their order");
    into.entries.push_back(output);
  }

  /// Stores a key without a column in the model as an attribute of the entry, if its value is a text or a number.
  void keep(const pickle_value& key, const pickle_value& v, std::uint32_t number, history& into) {
    const std::string_view name = from_.text(key);
    if (v.is(pickle_kind::none) || (v.is(pickle_kind::text) && from_.text(v).empty())) return;
    const bool plain =
        v.is(pickle_kind::text) || v.is(pickle_kind::integer) || v.is(pickle_kind::boolean) || v.is(pickle_kind::real);
    if (plain && !name.empty() && name.size() <= 64) {
      into.extras.push_back({number, name, v});
    } else {
      work_.not_understood("values of entries under the key '" + std::string(name.substr(0, 40)) + "'");
    }
  }

  void read_segments(const pickle_value& list, std::vector<segment>& into) {
    if (!list.is(pickle_kind::list) || !first_time(list)) return;
    for (const pickle_value& each : from_.items(list)) read_segment(each, into);
    work_.read(&into == &made_.host_segments ? "segments of pinned memory" : "segments", into.size());
  }

  void read_segment(const pickle_value& value, std::vector<segment>& into) {
    segment output;
    const pickle_value* blocks = nullptr;
    bool good = value.is(pickle_kind::dictionary);
    const pickle_pairs items = from_.pairs(value);
    for (std::size_t i = 0; good && i < items.size(); ++i) {
      const pickle_value& v = items.value(i);
      switch (meaning(items.key(i))) {
        case word::device:
          good = take_device(v, output.device);
          break;
        case word::address:
          good = take_address(v, output.address);
          break;
        case word::total_size:
          good = take(v, output.bytes);
          break;
        case word::stream:
          good = take_handle(v, output.stream);
          break;
        case word::frames:
          output.frames = get_container(v);
          break;
        case word::segment_pool_id:
          good = take_pool(v, output.pool);
          break;
        case word::segment_type:
          output.small = meaning(v) == word::small;
          break;
        case word::is_expandable:
          output.expandable = v.is(pickle_kind::boolean) && from_.integer(v) != 0;
          break;
        case word::blocks:
          blocks = &v;
          break;
        case word::unknown:
          unknown_key("segments", items.key(i));
          break;
        default:
          break;  // allocated_size, active_size and requested_size are totals of the segment's blocks.
      }
    }
    if (!good || output.bytes > UINT64_MAX - output.address)
      return work_.not_understood("segments with an impossible address or size");
    output.first_block = static_cast<std::uint32_t>(made_.blocks.size());
    if (blocks != nullptr && blocks->is(pickle_kind::list) && first_time(*blocks)) {
      std::uint64_t next = output.address;
      for (const pickle_value& each : from_.items(*blocks)) read_block(each, next);
    }
    output.blocks = static_cast<std::uint32_t>(made_.blocks.size()) - output.first_block;
    into.push_back(output);
  }

  void unknown_key(std::string_view text, const pickle_value& key) {
    work_.not_understood("values of " + std::string(text) + " under the key '" +
                         std::string(from_.text(key).substr(0, 40)) + "'");
  }

  /// Reads a block. `next` is the block's address if the file does not give it, and becomes the address after the
  /// block.
  void read_block(const pickle_value& value, std::uint64_t& next) {
    block output;
    output.address = next;
    bool good = value.is(pickle_kind::dictionary), requested = false;
    const pickle_pairs items = from_.pairs(value);
    for (std::size_t i = 0; good && i < items.size(); ++i) {
      const pickle_value& v = items.value(i);
      switch (meaning(items.key(i))) {
        case word::address:
          good = take_address(v, output.address);
          break;
        case word::size:
          good = take(v, output.bytes);
          break;
        case word::requested_size:
          requested = good = take(v, output.requested);
          break;
        case word::frames:
          output.frames = get_container(v);
          break;
        case word::history:  // PyTorch 1.13 and 2.0 write this key.
          good = requested = read_block_history(v, output);
          break;
        case word::state:
          output.status = get_state(meaning(v));
          break;
        case word::user_metadata:
          if (v.is(pickle_kind::text) && !from_.text(v).empty()) {
            made_.block_extras.push_back(
                {static_cast<std::uint32_t>(made_.blocks.size()), from_.text(items.key(i)), v});
          }
          break;
        case word::unknown:
          unknown_key("blocks", items.key(i));
          break;
        default:
          break;
      }
    }
    if (!good || output.bytes > UINT64_MAX - output.address) {
      std::erase_if(made_.block_extras, [&](const extra& each) { return each.entry == made_.blocks.size(); });
      return work_.not_understood("blocks with an impossible address or size");
    }
    if (!requested) output.requested = output.bytes;
    next = output.address + output.bytes;
    made_.blocks.push_back(output);
  }

  bool read_block_history(const pickle_value& list, block& into) {
    const auto items = from_.items(list);
    if (items.empty()) return false;
    const auto* real_size = from_.find(items[0], "real_size");
    if (const auto* frames = from_.find(items[0], "frames")) into.frames = get_container(*frames);
    return real_size != nullptr && take(*real_size, into.requested);
  }

  static block::state get_state(word w) {
    if (w == word::active_allocated) return block::state::allocated;
    return w == word::active_pending_free || w == word::active_awaiting_free ? block::state::pending_free
                                                                             : block::state::inactive;
  }

  void read_annotations(const pickle_value& list) {
    if (!list.is(pickle_kind::list) || !first_time(list)) return;
    for (const pickle_value& each : from_.items(list)) {
      annotation output;
      bool good = each.is(pickle_kind::dictionary);
      const pickle_pairs items = from_.pairs(each);
      for (std::size_t i = 0; good && i < items.size(); ++i) {
        const pickle_value& v = items.value(i);
        const word key = meaning(items.key(i));
        if (key == word::name) output.name = from_.text(v);
        if (key == word::device) good = take_device(v, output.device);
        if (key == word::time_us) good = take_time(v, output.time_us);
        if (key == word::stage) {
          output.status = meaning(v) == word::start ? annotation::stage::start
                          : meaning(v) == word::end ? annotation::stage::end
                                                    : annotation::stage::mark;
        }
      }
      if (good) made_.annotations.push_back(output);
      if (!good) work_.not_understood("annotations");
    }
    work_.read("annotations", made_.annotations.size());
  }

  /// Reads the most entries of a history. Since PyTorch 2.12, each device has its own value.
  void read_limits(const pickle_value& root) {
    const auto* overflowed = from_.find(root, "trace_alloc_overflowed");
    const auto* most = from_.find(root, "trace_alloc_max_entries");
    const auto flags = overflowed == nullptr ? std::span<const pickle_value>{} : from_.items(*overflowed);
    const auto limits = most == nullptr ? std::span<const pickle_value>{} : from_.items(*most);
    for (std::size_t i = 0; i < flags.size(); ++i) {
      if (from_.integer(flags[i]) == 0) continue;
      made_.overflowed = true;
      if (i < limits.size()) made_.max_entries = std::max(made_.max_entries, from_.integer(limits[i]));
    }
    if (overflowed != nullptr && overflowed->is(pickle_kind::boolean))
      made_.overflowed = from_.integer(*overflowed) != 0;
    if (most != nullptr) made_.max_entries = std::max(made_.max_entries, from_.integer(*most));
  }

  void count_other_keys(const pickle_value& root) {
    constexpr std::string_view known[] = {
        "segments",           "device_traces",        "host_segments",          "host_traces",
        "allocator_settings", "external_annotations", "trace_alloc_overflowed", "trace_alloc_max_entries"};
    if (!root.is(pickle_kind::dictionary)) return;
    const pickle_pairs items = from_.pairs(root);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string_view key = from_.text(items.key(i));
      if (std::find(std::begin(known), std::end(known), key) == std::end(known)) {
        work_.not_understood("values under the key '" + std::string(key.substr(0, 40)) + "'");
      }
    }
  }

  const pickle_document& from_;
  job& work_;
  zeros<word> learned_;  ///< The meaning of each text, indexed by text.
  zeros<char> seen_;     ///< For each container, whether it has been read: lists, segments and blocks.
  std::map<pool_name, std::uint32_t> pools_;
  snapshot made_;
};

}  // namespace

result<snapshot> read_snapshot(const pickle_document& document, job& work) { return reader(document, work).run(); }

}  // namespace torch
}  // namespace sluice::importing
