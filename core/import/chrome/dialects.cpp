#include "core/import/chrome/dialects.hpp"

#include <algorithm>
#include <array>

#include "core/import/common/number.hpp"

namespace sluice::importing {
namespace {

/// The numbers of devices that are a "process" start here. They are larger than any number that a tool writes.
constexpr std::int64_t first_device_number = std::int64_t{1} << 40;
/// The type of a CUDA device in torch.profiler's memory instants.
constexpr std::int64_t accelerator = 1;

bool holds_text(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

class dialect_arguments {
 public:
  explicit dialect_arguments(std::span<const chrome_argument> arguments) : all_(arguments) {}

  [[nodiscard]] const chrome_argument* find(std::string_view key) const {
    const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& each) { return each.key == key; });
    return found == all_.end() ? nullptr : &*found;
  }
  [[nodiscard]] std::string_view text(std::string_view key) const {
    const chrome_argument* const found = find(key);
    return found == nullptr ? std::string_view{} : found->text;
  }
  /// Returns the number of an argument. XLA writes some numbers in quotes or after "$$".
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view key) const {
    std::string_view written = text(key);
    if (written.starts_with("$$")) written.remove_prefix(2);
    return written.empty() ? std::nullopt : parse_integer(written, true);
  }

 private:
  std::span<const chrome_argument> all_;
};

/// Returns the value of `key` in "key:value key:value". Blanks or line ends separate the pairs.
std::string_view value_in(std::string_view details, std::string_view key) {
  for (std::size_t at = details.find(key); at != std::string_view::npos; at = details.find(key, at + 1)) {
    const bool begins = at == 0 || details[at - 1] == ' ' || details[at - 1] == '\n';
    std::size_t behind = at + key.size();
    if (!begins || behind >= details.size() || details[behind] != ':') continue;
    ++behind;
    return details.substr(behind, std::min(details.find_first_of(" \n", behind), details.size()) - behind);
  }
  return {};
}

void set_bytes(chrome_details& details, std::optional<std::int64_t> bytes) {
  details.has_bytes = bytes && *bytes >= 0;
  details.bytes = details.has_bytes ? *bytes : 0;
}

std::optional<std::int64_t> number_in(std::string_view details, std::string_view key) {
  const std::string_view written = value_in(details, key);
  return written.empty() ? std::nullopt : parse_integer(written, true);
}

/// Reads three numbers that characters of `between` separate, such as "256,1,1" or "8; 1; 1".
void read_numbers(std::string_view text, std::string_view between, std::uint32_t (&into)[3]) {
  for (std::uint32_t& each : into) {
    const std::size_t begin = text.find_first_not_of(between);
    if (begin == std::string_view::npos) return;
    const std::size_t end = std::min(text.find_first_of(between, begin), text.size());
    each = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(parse_integer(text.substr(begin, end - begin)).value_or(0), 0, UINT32_MAX));
    text.remove_prefix(end);
  }
}

/// Converts "pageable" and similar to torch.profiler's names.
std::string_view xla_side(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> words = {{{"pageable", "Pageable"},
                                                                                          {"pinned", "Pinned"},
                                                                                          {"device", "Device"},
                                                                                          {"array", "Array"},
                                                                                          {"managed", "Managed"},
                                                                                          {"unified", "Managed"}}};
  for (const auto& [theirs, ours] : words)
    if (word.starts_with(theirs)) return ours;
  return "Unknown";
}

// --- XLA -------------------------------------------------------------------------------------------------------------

bool is_driver_call(std::string_view name) {
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  for (const std::string_view prefix : {"cuda", "cu", "hip", "hsa_"})
    if (name.starts_with(prefix) && name.size() > prefix.size() &&
        (prefix == "hsa_" || is_capital(name[prefix.size()]))) {
      return true;
    }
  return false;
}

/// Returns the device of an allocator by its name: "GPU_0_bfc" is the allocator of device 0.
std::int64_t device_of_allocator(std::string_view name) {
  const std::size_t at = name.find_first_of("0123456789");
  if (!name.starts_with("GPU") || at == std::string_view::npos) return chrome_details::none;
  const std::size_t end = std::min(name.find_first_not_of("0123456789", at), name.size());
  return parse_integer(name.substr(at, end - at)).value_or(chrome_details::none);
}

/// Reads an event of the allocator that allocates or frees memory.
std::optional<dialect_event> read_xla_memory(const chrome_event& event, const dialect_arguments& arguments) {
  const bool gives = event.name == "MemoryAllocation", takes = event.name == "MemoryDeallocation";
  const auto bytes = arguments.number("allocation_bytes");
  if ((!gives && !takes) || !bytes || *bytes < 0) return std::nullopt;
  const std::int64_t device = device_of_allocator(arguments.text("allocator_name"));
  if (device == chrome_details::none) return std::nullopt;
  dialect_event row;
  row.category = chrome_category::memory;
  row.is_instant = true;
  row.details.device = device;
  row.details.device_type = accelerator;
  row.details.bytes = gives ? *bytes : -*bytes;
  const auto address = arguments.number("addr");
  row.details.has_address = address.has_value();
  row.details.address = static_cast<std::uint64_t>(address.value_or(0));
  row.details.allocated = arguments.number("bytes_allocated").value_or(chrome_details::none);
  row.details.reserved = arguments.number("bytes_reserved").value_or(chrome_details::none);
  return row;
}

/// On a thread's row, XLA gives a call the name and details of the work that it requests, and the device's number
/// (`CuptiTraceCollectorImpl` in xla/backends/profiler/gpu/cupti_collector.cc).
dialect_event read_xla_call(const chrome_event& event, const dialect_arguments& arguments, dialect_event row) {
  row.category = chrome_category::runtime_call;
  row.of_device = false;
  row.name = is_driver_call(event.name)                  ? event.name
             : !arguments.text("memcpy_details").empty() ? "memory copy"
             : !arguments.text("Memset_details").empty() ? "memset"
                                                         : "kernel launch";
  return row;
}

std::optional<dialect_event> read_xla(const chrome_event& event, const dialect_arguments& arguments, bool on_device) {
  if (arguments.find("allocator_name") != nullptr) return read_xla_memory(event, arguments);
  const auto correlation = arguments.number("correlation_id");
  if (!correlation) return std::nullopt;
  dialect_event row;
  row.details.correlation = *correlation;
  row.details.context = arguments.number("context_id").value_or(0);
  row.details.stream = event.thread.number;
  row.of_device = true;
  if (const std::string_view kernel = arguments.text("kernel_details"); !kernel.empty()) {
    row.category = chrome_category::kernel;
    row.details.registers = number_in(kernel, "regs").value_or(0);
    row.details.shared = number_in(kernel, "static_shared").value_or(0) +
                         number_in(kernel, "dynamic_shared").value_or(0) + number_in(kernel, "group_mem").value_or(0);
    read_numbers(value_in(kernel, "grid"), ",", row.details.grid);
    read_numbers(value_in(kernel, "block"), ",", row.details.block);
    row.name = event.name;
  } else if (is_driver_call(event.name) || (!on_device && arguments.find("device_id") != nullptr)) {
    return read_xla_call(event, arguments, std::move(row));
  } else if (const std::string_view copy = arguments.text("memcpy_details"); !copy.empty()) {
    row.category = chrome_category::copy;
    set_bytes(row.details, number_in(copy, "size"));
    row.name = std::string(event.name) + " (" + std::string(xla_side(value_in(copy, "kind_src"))) + " -> " +
               std::string(xla_side(value_in(copy, "kind_dst"))) + ")";
  } else if (const std::string_view memset = arguments.text("Memset_details"); !memset.empty()) {
    row.category = chrome_category::memset;
    const auto bytes = number_in(memset, "num_bytes");
    set_bytes(row.details, bytes ? bytes : number_in(memset, "size"));
    row.name = "Memset (" + std::string(xla_side(value_in(memset, "kind"))) + ")";
  } else {
    return std::nullopt;
  }
  return row;
}

// --- Intel's unitrace ------------------------------------------------------------------------------------------------

/// Parses "kernel[SIMD32 {8;1;1} {32;1;1}]". The first braces have the groups, the second the items per group. The text
/// before the bracket is the kernel's name.
void read_unitrace_kernel(std::string_view name, dialect_event& into) {
  into.category = chrome_category::kernel;
  const std::size_t open = name.rfind("[SIMD");
  into.name = name.substr(0, open);
  if (open == std::string_view::npos) return;
  std::string_view shape = name.substr(open);
  for (std::uint32_t(*each)[3] : {&into.details.grid, &into.details.block}) {
    const std::size_t begin = shape.find('{'), end = shape.find('}');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return;
    read_numbers(shape.substr(begin + 1, end - begin - 1), "; ", *each);
    shape.remove_prefix(end + 1);
  }
}

/// Parses "zeCommandListAppendMemoryCopy(M2D)[8388608 bytes]".
dialect_event read_unitrace(const chrome_event& event) {
  dialect_event row;
  row.of_device = true;
  row.details.stream = event.thread.number;
  std::string_view name = event.name;
  if (name.starts_with("Tile #")) name.remove_prefix(std::min(name.find(": "), name.size() - 2) + 2);
  const bool is_command = name.starts_with("zeCommand") || name.starts_with("clEnqueue");
  const std::size_t size = name.rfind('[');
  if (is_command && size != std::string_view::npos && name.ends_with(" bytes]")) {
    const std::string_view digits = name.substr(size + 1, name.size() - size - 8);
    set_bytes(row.details, parse_integer(digits));
  }
  const std::size_t open = name.find('('), close = name.find(')');
  const bool has_sides = open != std::string_view::npos && close != std::string_view::npos && open < close;
  if (is_command && (holds_text(name, "Copy") || holds_text(name, "Read") || holds_text(name, "Write"))) {
    row.category = chrome_category::copy;
    row.name = "Memcpy " + std::string(has_sides ? name.substr(open + 1, close - open - 1) : std::string_view());
  } else if (is_command && holds_text(name, "Fill")) {
    row.category = chrome_category::memset;
    row.name = "Memset";
  } else if (is_command && !holds_text(name, "LaunchKernel") && !holds_text(name, "NDRange")) {
    row.category = chrome_category::gpu_user_annotation;  // These are barriers, signals and resets.
    row.name = name;
  } else {
    read_unitrace_kernel(name, row);
  }
  return row;
}

// --- rocprof ---------------------------------------------------------------------------------------------------------

std::optional<dialect_event> read_rocprof(const chrome_event& event, const dialect_arguments& arguments) {
  if (arguments.find("BeginNs") == nullptr) return std::nullopt;
  dialect_event row;
  row.name = event.name;
  const bool copies = event.name.starts_with("Copy") && holds_text(event.name, "To");
  const auto device = arguments.number("dev-id");
  if (device || copies) {
    row.details.device = device.value_or(chrome_details::none);
    row.details.stream = arguments.number("queue-id").value_or(chrome_details::none);
    row.category = copies                       ? chrome_category::copy
                   : event.name == "FillBuffer" ? chrome_category::memset
                   : holds_text(event.name, "MarkerPacket") || event.name == "Marker"
                       ? chrome_category::gpu_user_annotation
                       : chrome_category::kernel;
    return row;
  }
  if (!is_driver_call(event.name)) return std::nullopt;
  row.category = chrome_category::runtime_call;
  return row;
}

// --- Ascend ----------------------------------------------------------------------------------------------------------

bool is_ascend_kernel(std::string_view type) {
  for (const std::string_view part :
       {"AI_CORE", "AI_VECTOR_CORE", "AI_CPU", "AICORE", "AIVEC", "AICPU", "MIX_AI", "DSA"})
    if (holds_text(type, part)) return true;
  return false;
}

dialect_event read_ascend(const chrome_event& event, const dialect_arguments& arguments, std::string_view type) {
  dialect_event row;
  row.of_device = true;
  row.name = event.name;
  row.details.stream = arguments.number("Physic Stream Id").value_or(event.thread.number);
  const bool copies = holds_text(type, "MEMCPY"), fills = holds_text(type, "MEMSET");
  if (copies || fills) {
    row.category = copies ? chrome_category::copy : chrome_category::memset;
    set_bytes(row.details, arguments.number("size(B)"));
    const std::string_view way = arguments.text("operation");
    row.name = way == "host to device"     ? "Memcpy HtoD"
               : way == "device to host"   ? "Memcpy DtoH"
               : way == "device to device" ? "Memcpy DtoD"
               : way == "host to host"     ? "Memcpy HtoH"
                                           : "Memcpy";
  } else {
    row.category = is_ascend_kernel(type) ? chrome_category::kernel : chrome_category::gpu_user_annotation;
  }
  return row;
}

// --- devices ---------------------------------------------------------------------------------------------------------

/// Returns the number at the end of a name. A bracket may follow it: "/device:GPU:0", "DEVICE<...>[0]".
std::optional<std::int64_t> last_number(std::string_view name) {
  if (name.starts_with("DEVICE<")) name.remove_prefix(std::min(name.rfind('>'), name.size()));
  const std::size_t end = name.find_last_of("0123456789");
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t before = name.find_last_not_of("0123456789", end);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return parse_integer(name.substr(begin, end + 1 - begin));
}

bool is_device_name(std::string_view name) {
  return holds_text(name, "/device:") || name.starts_with("DEVICE<") || name == "Ascend Hardware";
}

/// Returns the model name of the device, if the name of its "process" contains it.
std::string_view get_model(std::string_view name) {
  if (name.starts_with("DEVICE<") && holds_text(name, ">")) return name.substr(7, name.rfind('>') - 7);
  return name == "Ascend Hardware" ? "Ascend NPU" : std::string_view{};
}

}  // namespace

std::optional<dialect_event> read_dialect(const chrome_event& event, std::span<const chrome_argument> arguments,
                                          bool on_device) {
  if (event.category_text == "gpu_op") return read_unitrace(event);
  if (event.arguments == chrome_event::none) return std::nullopt;
  const dialect_arguments whole(arguments);
  if (const std::string_view type = whole.text("Task Type"); !type.empty()) return read_ascend(event, whole, type);
  if (auto rocprof = read_rocprof(event, whole)) return rocprof;
  return read_xla(event, whole, on_device);
}

dialect_event read_bare_work(const chrome_event& event) {
  dialect_event row;
  row.of_device = true;
  row.name = event.name;
  row.details.stream = event.thread.number;
  row.category = event.name.starts_with("Memcpy")   ? chrome_category::copy
                 : event.name.starts_with("Memset") ? chrome_category::memset
                                                    : chrome_category::kernel;
  return row;
}

std::int64_t dialect_devices::to_number(const chrome_ident& process) {
  const auto known =
      numbers_.try_emplace(get_key(process), first_device_number + static_cast<std::int64_t>(numbers_.size()));
  return known.first->second;
}

std::string_view dialect_devices::device_name(const chrome_ident& process) const {
  if (!has_devices_) return {};
  const std::string_view name = tracks_.process_name(process);
  return is_device_name(name) ? name : std::string_view{};
}

bool dialect_devices::holds_work(const chrome_ident& process, const chrome_ident& thread) const {
  if (!has_devices_) return false;
  const std::string_view device = tracks_.process_name(process), row = tracks_.thread_name(process, thread);
  return (holds_text(device, "/device:TPU:") && row == "XLA Ops") ||
         (holds_text(device, "/device:GPU:") && row.starts_with("Stream #"));
}

void dialect_devices::note_name(std::string_view name) { has_devices_ = has_devices_ || is_device_name(name); }

void dialect_devices::note_label(const chrome_ident& process, std::string_view label) {
  if (const auto number = last_number(label)) labels_[get_key(process)] = *number;
}

void dialect_devices::finish() {
  std::set<std::int64_t> taken;
  for (const auto& [process, number] : numbers_) {
    const std::string_view name = tracks_.process_name({process.first, process.second});
    const auto label = labels_.find(process);
    std::int64_t ordinal = label != labels_.end() ? label->second : last_number(name).value_or(0);
    ordinal = std::clamp<std::int64_t>(ordinal, 0, 1 << 16);
    while (!taken.insert(ordinal).second) ++ordinal;
    devices_.settle(number, ordinal, get_model(name));
  }
}

}  // namespace sluice::importing
