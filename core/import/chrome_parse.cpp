#include "core/import/chrome_parse.hpp"

#include <simdjson.h>

#include <algorithm>
#include <deque>

#include "core/import/chrome_number.hpp"
#include "core/import/chrome_scan.hpp"

namespace sluice::importing {
namespace {

namespace od = simdjson::ondemand;
using simdjson::error_code;
using simdjson::SUCCESS;

std::string_view trimmed(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \n\r\t");
  return end == std::string_view::npos ? std::string_view{} : text.substr(0, end + 1);
}

std::string_view unquoted(std::string_view token) {
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') return token.substr(1, token.size() - 2);
  return token;
}

chrome_category category_of(std::string_view text) {
  static constexpr std::pair<std::string_view, chrome_category> known[] = {
      {"cpu_op", chrome_category::cpu_op},
      {"python_function", chrome_category::python_function},
      {"kernel", chrome_category::kernel},
      {"cuda_runtime", chrome_category::runtime_call},
      {"cuda_driver", chrome_category::runtime_call},
      {"ac2g", chrome_category::call_to_work},
      {"gpu_memcpy", chrome_category::copy},
      {"gpu_memset", chrome_category::memset},
      {"user_annotation", chrome_category::user_annotation},
      {"gpu_user_annotation", chrome_category::gpu_user_annotation},
      {"cuda_sync", chrome_category::sync},
      // As older versions wrote them.
      {"Kernel", chrome_category::kernel},
      {"Memcpy", chrome_category::copy},
      {"Memset", chrome_category::memset},
      {"Runtime", chrome_category::runtime_call},
      {"Operator", chrome_category::cpu_op},
  };
  for (const auto& [name, category] : known)
    if (text == name) return category;
  return chrome_category::other;
}

/// The text of a string, escapes resolved; of anything else, as it is written. Kept in `keep`, when there is one: the parser
/// forgets its texts at its next document.
error_code read_text(od::value& value, std::string_view& into, std::deque<std::string>* keep, bool* quoted = nullptr) {
  const bool is_string = value.raw_json_token().front() == '"';  // Never empty: a value begins there.
  if (quoted != nullptr) *quoted = is_string;
  if (is_string) {
    const auto failed = value.get_string(true).get(into);
    if (!failed && keep != nullptr) into = keep->emplace_back(into);
    return failed;
  }
  const auto failed = value.raw_json().get(into);  // In the piece.
  into = trimmed(into);
  return failed;
}

/// The digits that `text` begins with, when nothing but blanks follows them and they are few enough.
bool read_digits(std::string_view text, std::int64_t& into) {
  std::int64_t value = 0;
  std::size_t at = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) value = value * 10 + (text[at] - '0');
  if (at == 0 || at > 18) return false;
  into = value;
  for (; at < text.size(); ++at)
    if (text[at] != ' ' && text[at] != '\n' && text[at] != '\r' && text[at] != '\t') return false;
  return true;
}

error_code read_ident(od::value& value, chrome_ident& into, std::deque<std::string>* keep) {
  into.text = {};
  if (read_digits(value.raw_json_token(), into.number)) return SUCCESS;
  if (const auto failed = read_text(value, into.text, keep)) return failed;
  const auto number = parse_integer(into.text, true);
  // Also a quoted number is one: some tools quote.
  into.number = number.value_or(0);
  if (number && into.text.find_first_of(".eE") == std::string_view::npos) into.text = {};
  return SUCCESS;
}

error_code read_time(od::value& value, bool& has, bool& bad, trace::time_ns& into) {
  const auto ns = parse_thousandths(unquoted(trimmed(value.raw_json_token())));
  has = true;
  bad = bad || !ns;
  into = ns.value_or(0);
  return SUCCESS;
}

template <class Integer>
error_code read_integer(od::value& value, Integer& into) {
  std::int64_t plain = 0;
  if (read_digits(value.raw_json_token(), plain)) {
    into = static_cast<Integer>(plain);
    return SUCCESS;
  }
  const std::string_view token = unquoted(trimmed(value.raw_json_token()));
  if (const auto number = parse_integer(token, true)) into = static_cast<Integer>(*number);
  return SUCCESS;
}

error_code read_three(od::value& value, std::uint32_t (&into)[3]) {
  od::array numbers;
  if (value.get_array().get(numbers)) return SUCCESS;  // Not an array: nothing of it.
  std::size_t at = 0;
  for (auto entry : numbers) {
    if (entry.error()) return entry.error();
    if (at == 3) continue;
    if (const auto failed = read_integer(entry.value_unsafe(), into[at++])) return failed;
  }
  return SUCCESS;
}

/// One argument that the model has a column for; others are passed over.
error_code read_detail(std::string_view key, od::value& value, chrome_details& into) {
  switch (key.size()) {
    case 4:
      if (key == "grid") return read_three(value, into.grid);
      if (key == "Addr") return read_integer(value, into.address);
      break;
    case 5:
      if (key == "bytes" || key == "Bytes") return read_integer(value, into.bytes);
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
  return SUCCESS;
}

enum class wants : std::uint8_t { nothing, details, all };

/// What is wanted of an event's arguments.
wants wanted_of(const chrome_event& event) {
  if (event.phase == 'C' || event.phase == 'M') return wants::all;
  switch (event.category) {
    case chrome_category::runtime_call:
    case chrome_category::kernel:
    case chrome_category::copy:
    case chrome_category::memset:
    case chrome_category::sync:
    case chrome_category::memory:
    case chrome_category::gpu_user_annotation:
      return wants::details;
    default:
      return wants::nothing;
  }
}

/// The members of one event, while they are read.
class event_reader {
 public:
  event_reader(chrome_batch& batch, od::parser& beside) : batch_(batch), beside_(beside) {}

  /// `limit`: the end of the memory that the object lies in. `keep`: the parser goes on to another document behind it.
  error_code read(od::object& object, const char* limit, bool keep) {
    limit_ = limit;
    keep_ = keep ? &batch_.kept : nullptr;
    later_ = {};
    // Filled where it stays: it is large.
    event_ = &batch_.events.emplace_back();
    const auto failed = members(object);
    if (failed) batch_.events.pop_back();
    return failed;
  }

 private:
  error_code members(od::object& object) {
    for (auto entry : object) {
      // Not taken out of `entry`: a copy reads at once what was just written in parts, and waits for it.
      if (entry.error()) return entry.error();
      od::field& field = entry.value_unsafe();
      if (const auto failed = member(field.escaped_key(), field.value())) return failed;
    }
    return later_.empty() ? SUCCESS : arguments_beside();
  }

  error_code member(std::string_view key, od::value& value) {
    switch (key.size()) {
      case 1:
        if (key == "s") return letter(value, event_->scope);
        break;
      case 2:
        if (key == "ph") return letter(value, event_->phase);
        if (key == "ts") return read_time(value, event_->has_time, event_->bad_time, event_->time);
        if (key == "id") return read_ident(value, event_->id, keep_);
        break;
      case 3:
        if (key == "cat") return category(value);
        if (key == "pid") return read_ident(value, event_->process, keep_);
        if (key == "tid") return read_ident(value, event_->thread, keep_);
        if (key == "dur") return read_time(value, event_->has_duration, event_->bad_time, event_->duration);
        // {"local": "0x1"} or {"global": "0x1"}: the text is as good as any name.
        if (key == "id2") return read_text(value, event_->id.text, keep_);
        break;
      case 4:
        if (key == "name") return name(value);
        if (key == "args") return arguments(value);
        break;
      default:
        break;
    }
    return SUCCESS;
  }

  static error_code letter(od::value& value, char& into) {
    const std::string_view text = unquoted(trimmed(value.raw_json_token()));
    into = text.size() == 1 ? text.front() : '\0';
    return SUCCESS;
  }

  error_code category(od::value& value) {
    const auto failed = read_text(value, event_->category_text, keep_);
    if (event_->category != chrome_category::memory) event_->category = category_of(event_->category_text);
    return failed;
  }

  error_code name(od::value& value) {
    const auto failed = read_text(value, event_->name, keep_);
    if (event_->name == "[memory]") event_->category = chrome_category::memory;
    return failed;
  }

  error_code arguments(od::value& value) {
    // What is wanted of them depends on the phase and on the category, for instants on the name: these may come behind.
    const bool told = event_->phase == 'i'   ? !event_->name.empty()
                      : event_->phase == 'X' ? !event_->category_text.empty()
                                             : event_->phase != 0;
    if (!told) return value.raw_json().get(later_);
    od::object object;
    if (wanted_of(*event_) == wants::nothing || value.get_object().get(object)) {
      ++batch_.skipped_arguments;
      return SUCCESS;
    }
    return arguments(object, keep_);
  }

  error_code arguments(od::object& object, std::deque<std::string>* keep) {
    const bool all = wanted_of(*event_) == wants::all;
    chrome_details details;
    const std::size_t first = batch_.arguments.size();
    for (auto entry : object) {
      if (entry.error()) return entry.error();
      od::field& field = entry.value_unsafe();
      if (!all) {
        const std::string_view key = field.escaped_key();
        if (const auto failed = read_detail(key, field.value(), details)) return failed;
        continue;
      }
      chrome_argument argument;
      if (const auto failed = field.unescaped_key(true).get(argument.key)) return failed;
      if (keep != nullptr) argument.key = keep->emplace_back(argument.key);
      if (const auto failed = read_text(field.value(), argument.text, keep, &argument.quoted)) return failed;
      batch_.arguments.push_back(argument);
    }
    if (all) {
      event_->arguments = static_cast<std::uint32_t>(first);
      event_->argument_count = static_cast<std::uint32_t>(batch_.arguments.size() - first);
    } else {
      event_->details = static_cast<std::uint32_t>(batch_.details.size());
      batch_.details.push_back(details);
    }
    return SUCCESS;
  }

  /// Arguments that came before what says what they are. Behind them lies the rest of the piece and its margin.
  error_code arguments_beside() {
    if (wanted_of(*event_) == wants::nothing) {
      ++batch_.skipped_arguments;
      return SUCCESS;
    }
    const auto room = static_cast<std::size_t>(limit_ - later_.data());
    od::document document;
    if (const auto failed = beside_.iterate(later_.data(), later_.size(), room).get(document)) return failed;
    od::object object;
    if (document.get_object().get(object)) return SUCCESS;
    return arguments(object, &batch_.kept);
  }

  chrome_batch& batch_;
  od::parser& beside_;
  std::deque<std::string>* keep_ = nullptr;
  const char* limit_ = nullptr;
  chrome_event* event_ = nullptr;  ///< The last of the batch.
  std::string_view later_;
};

/// Replaces what is not UTF-8; where the first of it was, or the size.
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
}

struct chrome_parser::state {
  od::parser all, beside;

  /// All events of the text [begin, end) of `piece` at once.
  error_code parse_all(chrome_piece& piece, chrome_batch& into) {
    char* const begin = piece.buffer.data() + piece.begin - 1;
    char* const limit = piece.buffer.data() + piece.buffer.size();
    *begin = '[';
    piece.buffer[piece.end] = ']';
    const std::size_t size = piece.end - piece.begin + 2;
    od::document document;
    if (const auto failed = all.iterate(begin, size, static_cast<std::size_t>(limit - begin)).get(document))
      return failed;
    od::array array;
    if (const auto failed = document.get_array().get(array)) return failed;
    event_reader reader(into, beside);
    for (auto entry : array) {
      if (entry.error()) return entry.error();
      od::value& element = entry.value_unsafe();
      od::json_type type{};
      if (const auto failed = element.type().get(type)) return failed;
      od::object object;
      if (type != od::json_type::object) {
        into.faults.push_back({"elements that are no objects", piece.offset});
        continue;
      }
      if (const auto failed = element.get_object().get(object)) return failed;
      if (const auto failed = reader.read(object, limit, false)) return failed;
    }
    return SUCCESS;
  }

  /// One after the other, so that what is wrong with one is not wrong with all.
  void parse_each(chrome_piece& piece, chrome_batch& into) {
    std::vector<std::size_t> ends;
    const std::string_view text = piece.text();
    static_cast<void>(scan_array(text, &ends));
    const char* const limit = piece.buffer.data() + piece.buffer.size();
    event_reader reader(into, beside);
    std::size_t at = 0;
    for (const std::size_t end : ends) {
      const std::size_t begin = std::min(text.find('{', at), end);
      at = end;
      const auto room = static_cast<std::size_t>(limit - (text.data() + begin));
      od::document document;
      od::object object;
      const std::size_t events = into.events.size();
      error_code failed = all.iterate(text.data() + begin, end - begin, room).get(document);
      if (!failed) failed = document.get_object().get(object);
      if (!failed) failed = reader.read(object, limit, true);
      if (!failed) continue;
      into.events.resize(events);
      into.faults.push_back({"events that are no JSON", piece.offset + begin});
    }
  }
};

chrome_parser::chrome_parser() : state_(std::make_unique<state>()) {}
chrome_parser::~chrome_parser() = default;

void chrome_parser::parse(chrome_piece& piece, chrome_batch& into) {
  into.clear();
  if (piece.begin >= piece.end) return;
  error_code failed = state_->parse_all(piece, into);
  if (failed == simdjson::UTF8_ERROR) {
    into.clear();
    const std::size_t bad = mend_utf8(piece.buffer.data() + piece.begin, piece.end - piece.begin);
    failed = state_->parse_all(piece, into);
    if (!failed) into.faults.push_back({"pieces with bytes that are not UTF-8, read as '?'", piece.offset + bad});
  }
  if (!failed) return;
  into.clear();
  state_->parse_each(piece, into);
}

std::vector<std::pair<std::string, std::string>> json_members(std::string_view object) {
  std::vector<std::pair<std::string, std::string>> members;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(object.data(), object.size()).get(root)) return members;
  const auto text_of = [](const simdjson::dom::element& value) {
    std::string_view text;
    if (!value.get_string().get(text)) return std::string(text);
    return simdjson::to_string(value);
  };
  simdjson::dom::object fields;
  simdjson::dom::array elements;
  if (!root.get_object().get(fields)) {
    for (const auto field : fields) members.emplace_back(field.key, text_of(field.value));
  } else if (!root.get_array().get(elements)) {
    for (const auto element : elements) members.emplace_back(std::string(), text_of(element));
  }
  return members;
}

}  // namespace sluice::importing
