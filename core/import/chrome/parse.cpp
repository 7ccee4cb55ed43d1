#include "core/import/chrome/parse.hpp"

#include <simdjson.h>

#include <algorithm>
#include <optional>

#include "core/base/json/json_text.hpp"
#include "core/import/chrome/json_walk.hpp"
#include "core/import/chrome/resume.hpp"
#include "core/import/chrome/scan.hpp"
#include "core/import/common/number.hpp"

namespace sluice::importing {
namespace {

chrome_category find_category(std::string_view text) {
  static constexpr std::pair<std::string_view, chrome_category> known[] = {
      {"cpu_op", chrome_category::cpu_op},
      {"python_function", chrome_category::python_function},
      {"kernel", chrome_category::kernel},
      {"cuda_runtime", chrome_category::runtime_call},
      {"cuda_driver", chrome_category::runtime_call},
      {"ac2g", chrome_category::call_to_work},
      {"async_cpu_to_gpu", chrome_category::call_to_work},  // The name up to torch 1.13.
      {"gpu_memcpy", chrome_category::copy},
      {"gpu_memset", chrome_category::memset},
      {"user_annotation", chrome_category::user_annotation},
      {"gpu_user_annotation", chrome_category::gpu_user_annotation},
      {"cuda_sync", chrome_category::sync},
      // These are the names in older versions.
      {"Kernel", chrome_category::kernel},
      {"Memcpy", chrome_category::copy},
      {"Memset", chrome_category::memset},
      {"Runtime", chrome_category::runtime_call},
      {"Operator", chrome_category::cpu_op},
  };
  for (const auto& [name, category] : known)
    if (text == name) return category;
  // The runtimes and drivers of other devices are "xpu_runtime", "mtia_runtime", "privateuse1_driver", ...
  const bool is_call = text.ends_with("_runtime") || text.ends_with("_driver");
  return is_call ? chrome_category::runtime_call : chrome_category::other;
}

bool read_time(const json_value& value, bool& has, bool& bad, trace::time_ns& into) {
  const std::string_view written = value.unquoted();
  has = true;
  if (quick_thousandths(written, into)) return true;
  const auto ns = parse_thousandths(written);
  bad = bad || !ns;
  into = ns.value_or(0);
  return true;
}

template <class Integer>
bool read_integer(const json_value& value, Integer& into) {
  const std::string_view written = value.unquoted();
  if (std::uint64_t digits = 0; quick_integer(written, digits)) {
    into = static_cast<Integer>(digits);
  } else if (const auto number = parse_integer(written, true)) {
    into = static_cast<Integer>(*number);
  }
  return true;
}

bool read_three(const json_value& value, std::uint32_t (&into)[3]) {
  if (!value.is_array()) return true;  // Other values are ignored.
  std::size_t at = 0;
  return json_walk(value).array([&](const json_value& number) { return at == 3 || read_integer(number, into[at++]); });
}

/// Reads an argument for which the model has a column. Ignores other arguments.
bool read_detail(std::string_view key, const json_value& value, chrome_details& into) {
  switch (key.size()) {
    case 4:
      if (key == "grid") return read_three(value, into.grid);
      if (key == "Addr") return into.has_address = true, read_integer(value, into.address);
      break;
    case 5:
      if (key == "bytes" || key == "Bytes") return into.has_bytes = true, read_integer(value, into.bytes);
      if (key == "block") return read_three(value, into.block);
      break;
    case 6:
      if (key == "device") return read_integer(value, into.device);
      if (key == "stream") return read_integer(value, into.stream);
      break;
    case 7:
      if (key == "context") return read_integer(value, into.context);
      break;
    case 9:
      if (key == "Device Id") return read_integer(value, into.device);
      break;
    case 11:
      if (key == "correlation") return read_integer(value, into.correlation);
      if (key == "Device Type") return read_integer(value, into.device_type);
      break;
    case 13:
      if (key == "shared memory") return read_integer(value, into.shared);
      if (key == "graph node id") return read_integer(value, into.graph_node);
      break;
    case 14:
      if (key == "Total Reserved") return read_integer(value, into.reserved);
      break;
    case 15:
      if (key == "Total Allocated") return read_integer(value, into.allocated);
      break;
    case 20:
      if (key == "registers per thread") return read_integer(value, into.registers);
      break;
    default:
      break;
  }
  return true;
}

enum class wants : std::uint8_t { nothing, details, all };

/// Returns which arguments of an event are needed.
wants get_wanted(const chrome_event& event) {
  if (event.phase == 'C' || event.phase == 'M') return wants::all;
  switch (event.category) {
    case chrome_category::runtime_call:
    case chrome_category::kernel:
    case chrome_category::copy:
    case chrome_category::memset:
    case chrome_category::sync:
    case chrome_category::memory:
    case chrome_category::out_of_memory:
    case chrome_category::gpu_user_annotation:
      return wants::details;
    default:
      // This may be device work in the form of other tools. Only the arguments show that.
      return event.phase == 'X' && (event.category_text.empty() || event.category_text == "gpu_op") ? wants::all
                                                                                                    : wants::nothing;
  }
}

/// New events are copies of this one. Without it, the compiler uses a fill instruction with a higher startup cost.
constexpr chrome_event blank_event;
constexpr chrome_details blank_details;

/// Reads events into a batch, one by one. Texts point into the piece, except for those with escapes.
class event_reader {
 public:
  event_reader(chrome_batch& batch, const json_index& index)
      : batch_(batch), index_(index), has_escapes_(index.has_escapes()) {}

  /// Returns false and adds nothing if the event is not a valid object.
  bool read(json_walk& walk) {
    arguments_.reset();
    // The event is filled in place because it is large.
    event_ = &batch_.events.emplace_back(blank_event);
    const auto use = [&](std::string_view name, const json_value& value) { return member(name, value); };
    if (walk.object(use) && (!arguments_ || read_arguments(*arguments_))) return true;
    batch_.events.pop_back();
    return false;
  }

 private:
  bool member(std::string_view key, const json_value& value) {
    switch (key.size()) {
      case 1:
        if (key == "s") return letter(value, event_->scope);
        break;
      case 2:
        if (key == "ph") return letter(value, event_->phase);
        if (key == "ts") return read_time(value, event_->has_time, event_->bad_time, event_->time);
        if (key == "id") return ident(value, event_->id);
        break;
      case 3:
        if (key == "cat") return category(value);
        if (key == "pid") return ident(value, event_->process);
        if (key == "tid") return ident(value, event_->thread);
        if (key == "dur") return read_time(value, event_->has_duration, event_->bad_duration, event_->duration);
        // The value is {"local": "0x1"} or {"global": "0x1"}. Its JSON text serves as the id.
        if (key == "id2") return text(value, event_->id.text);
        break;
      case 4:
        if (key == "name") return name(value);
        if (key == "args") return arguments(value);
        break;
      default:
        break;
    }
    return true;
  }

  static bool letter(const json_value& value, char& into) {
    const std::string_view text = value.unquoted();
    into = text.size() == 1 ? text.front() : '\0';
    return true;
  }

  /// Sets `into` to the content of a string, with escapes decoded, or to the text of any other value as written.
  bool text(const json_value& value, std::string_view& into) {
    into = value.unquoted();
    return !has_escapes_ || !value.is_string() || resolve(into);
  }

  /// Decodes `text`, the characters between a string's quotes.
  bool resolve(std::string_view& text) {
    if (text.find('\\') == std::string_view::npos) return true;
    std::string& resolved = batch_.kept.emplace_back();
    // An unescaped Windows path is taken literally.
    if (!index_.unescape(text, resolved)) resolved = text;
    text = resolved;
    return true;
  }

  bool ident(const json_value& value, chrome_ident& into) {
    // A quoted number counts as a number, because some tools quote numbers.
    const std::string_view written = value.unquoted();
    if (std::uint64_t digits = 0; quick_integer(written, digits)) {
      into = {static_cast<std::int64_t>(digits), {}};
      return true;
    }
    into.text = {};
    const auto number = parse_integer(written, true);
    into.number = number.value_or(0);
    if (number && written.find_first_of(".eE") == std::string_view::npos) return true;
    return text(value, into.text);
  }

  bool category(const json_value& value) {
    if (!text(value, event_->category_text)) return false;
    const bool named =
        event_->category == chrome_category::memory || event_->category == chrome_category::out_of_memory;
    if (!named) event_->category = find_category(event_->category_text);
    return true;
  }

  bool name(const json_value& value) {
    if (!text(value, event_->name)) return false;
    if (event_->name == "[memory]") event_->category = chrome_category::memory;
    if (event_->name == "[OutOfMemory]") event_->category = chrome_category::out_of_memory;
    return true;
  }

  bool arguments(const json_value& value) {
    // The required arguments depend on the phase and the category and, for instants, on the name. These may come later.
    const bool known = event_->phase == 'i'   ? !event_->name.empty()
                       : event_->phase == 'X' ? !event_->category_text.empty()
                                              : event_->phase != 0;
    if (known) return read_arguments(value);
    arguments_ = value;
    return true;
  }

  bool read_arguments(const json_value& value) {
    const wants wanted = get_wanted(*event_);
    if (wanted == wants::nothing || !value.is_object()) {
      ++batch_.skipped_arguments;
      return true;
    }
    return wanted == wants::all ? all_of(value) : list_details(value);
  }

  bool all_of(const json_value& value) {
    const std::size_t first = batch_.arguments.size();
    const bool done = json_walk(value).object([&](std::string_view key, const json_value& written) {
      chrome_argument argument;
      argument.key = key;
      argument.quoted = written.is_string();
      if (has_escapes_ && !resolve(argument.key)) return false;
      if (!text(written, argument.text)) return false;
      batch_.arguments.push_back(argument);
      return true;
    });
    event_->arguments = static_cast<std::uint32_t>(first);
    event_->argument_count = static_cast<std::uint32_t>(batch_.arguments.size() - first);
    return done;
  }

  bool list_details(const json_value& value) {
    event_->details = static_cast<std::uint32_t>(batch_.details.size());
    chrome_details& details = batch_.details.emplace_back(blank_details);
    return json_walk(value).object(
        [&](std::string_view key, const json_value& written) { return read_detail(key, written, details); });
  }

  chrome_batch& batch_;
  const json_index& index_;
  bool has_escapes_;               ///< True if any string of the text has escapes.
  chrome_event* event_ = nullptr;  ///< The last event of the batch.
  /// The arguments, if they came before the members that determine which are needed.
  std::optional<json_value> arguments_;
};

/// Replaces bytes that are not UTF-8. Returns the position of the first of these bytes, or the size.
std::size_t mend_utf8(char* text, std::size_t size) {
  std::size_t first = size;
  for (std::size_t at = 0; at < size;) {
    std::size_t length = 1;
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead >= 0xc2 && lead < 0xe0) length = 2;
    if (lead >= 0xe0 && lead < 0xf0) length = 3;
    if (lead >= 0xf0 && lead < 0xf5) length = 4;
    const bool fine = lead < 0x80 || (length > 1 && at + length <= size && simdjson::validate_utf8(text + at, length));
    if (!fine) {
      first = std::min(first, at);
      text[at] = '?';
      length = 1;
    }
    at += length;
  }
  return first;
}

}  // namespace

void chrome_batch::clear() {
  events.clear();
  details.clear();
  arguments.clear();
  faults.clear();
  kept.clear();
  skipped_arguments = 0;
  lost_bytes = 0;
}

struct chrome_parser::state {
  json_index index;

  /// Parses all events of the text [begin, end) of `piece` at once.
  json_fault parse_all(chrome_piece& piece, chrome_batch& into) {
    char* const begin = piece.buffer.data() + piece.begin - 1;
    *begin = '[';
    piece.buffer[piece.end] = ']';
    const std::size_t size = piece.end - piece.begin + 2;
    if (const json_fault fault = index.read({begin, size}); fault != json_fault::none) return fault;
    event_reader reader(into, index);
    json_walk walk = index.walk();
    const bool sound = walk.elements([&](json_walk& at) {
      if (at.at_object()) return reader.read(at);
      into.faults.push_back({"elements that are not objects", piece.offset});
      return at.pass_value();
    });
    return sound && walk.at_end() ? json_fault::none : json_fault::other;
  }

  /// Parses the events one by one, so that one invalid event does not affect the others.
  void parse_each(chrome_piece& piece, chrome_batch& into) {
    std::vector<std::size_t> ends;
    const std::string_view text = piece.text();
    static_cast<void>(scan_array(text, &ends));
    // The reader is created from the index of the whole piece. If the piece has no escapes, no event has any.
    event_reader reader(into, index);
    std::size_t at = 0;
    for (const std::size_t end : ends) {
      const std::size_t begin = std::min(text.find('{', at), end);
      at = end;
      if (parse_one(piece, begin, end, reader)) continue;
      parse_inside(piece, begin, end, reader, into);
    }
  }

  /// Parses one event. Control characters, which strings must not contain, become blanks. The text after the event in
  /// the piece is a sufficient margin.
  bool parse_one(chrome_piece& piece, std::size_t begin, std::size_t end, event_reader& reader) {
    const std::string_view text = piece.text().substr(begin, end - begin);
    json_fault fault = index.read(text);
    if (fault == json_fault::other) {
      char* const bytes = piece.buffer.data() + piece.begin + begin;
      std::replace_if(
          bytes, bytes + text.size(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
      fault = index.read(text);
    }
    if (fault != json_fault::none) return false;
    json_walk walk = index.walk();
    return reader.read(walk) && walk.at_end();
  }

  /// Parses the events inside a text that looks like one broken event, because a missing bracket can merge several
  /// events.
  void parse_inside(chrome_piece& piece, std::size_t begin, std::size_t end, event_reader& reader, chrome_batch& into) {
    const auto lost = [&](std::size_t start, std::size_t to, std::size_t events) {
      for (std::size_t i = 0; i < events; ++i)
        into.faults.push_back({"events that are not JSON", piece.offset + start});
      into.lost_bytes += to - start;
    };
    for (;;) {
      const resumption next = find_next_event(piece.text().substr(begin, end - begin), false);
      lost(begin, begin + next.at, next.found ? next.events_lost() : 1);
      if (!next.found) return;
      begin += next.at;
      // Events that directly follow it are valid, too.
      for (;;) {
        const strict_object object = read_object_strictly(piece.text().substr(begin, end - begin));
        if (object.status != strict_object::state::whole || !parse_one(piece, begin, begin + object.end, reader)) break;
        begin += object.end;
        const std::string_view rest = piece.text().substr(begin, end - begin);
        const std::size_t solid = rest.find_first_not_of(" \n\r\t,");
        if (solid == std::string_view::npos || rest[solid] != '{') return;
        begin += solid;
      }
    }
  }
};

chrome_parser::chrome_parser() : state_(std::make_unique<state>()) {}
chrome_parser::~chrome_parser() = default;

void chrome_parser::parse(chrome_piece& piece, chrome_batch& into) {
  into.clear();
  if (piece.begin >= piece.end) return;
  json_fault fault = state_->parse_all(piece, into);
  if (fault == json_fault::not_utf8) {
    into.clear();
    const std::size_t bad = mend_utf8(piece.buffer.data() + piece.begin, piece.end - piece.begin);
    fault = state_->parse_all(piece, into);
    if (fault == json_fault::none)
      into.faults.push_back({"pieces with bytes that are not UTF-8, read as '?'", piece.offset + bad});
  }
  if (fault == json_fault::none) return;
  into.clear();
  state_->parse_each(piece, into);
}

std::optional<std::vector<std::pair<std::string, std::string>>> json_members(std::string_view object) {
  std::vector<std::pair<std::string, std::string>> members;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  // The parser keeps its depth limit when it grows. The limit is one more than the deepest level and does not count
  // empty containers.
  if (parser.allocate(object.size(), max_json_levels + 1)) return std::nullopt;
  if (parser.parse(object.data(), object.size()).get(root)) return std::nullopt;
  const auto to_text = [](const simdjson::dom::element& value) {
    std::string_view text;
    if (!value.get_string().get(text)) return std::string(text);
    return simdjson::to_string(value);
  };
  simdjson::dom::object fields;
  simdjson::dom::array elements;
  if (!root.get_object().get(fields)) {
    for (const auto field : fields) members.emplace_back(field.key, to_text(field.value));
  } else if (!root.get_array().get(elements)) {
    for (const auto element : elements) members.emplace_back(std::string(), to_text(element));
  } else {
    return std::nullopt;
  }
  return members;
}

}  // namespace sluice::importing
