#include "app/gui/shell/kept_view.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "app/gui/shell/kept_view_json.hpp"
#include "core/base/json/json_text.hpp"
#include "core/base/printable.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t longest_words = 4096;  // bytes
constexpr std::array<std::string_view, query::memory_grouping_count> grouping_words = {
    "line", "caller", "module", "package", "owner", "stream", "process"};

tl::unexpected<error> wrong(const std::string& subject) { return fail(error_code::corrupt, "has no valid " + subject); }

/// Reads the members of an object. Records the first invalid member; after that, the other members are ignored.
class members {
 public:
  explicit members(const json& in) : in_(in) {}
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

  void flag(const char* name, bool& to) {
    if (const json* found = find(name, &json::is_boolean)) to = found->get<bool>();
  }
  void text(const char* name, std::string& to) {
    const json* found = find(name, &json::is_string);
    if (found == nullptr) return;
    if (found->get_ref<const std::string&>().size() > longest_words) {
      wrong_ = name;
      return;
    }
    to = found->get<std::string>();
  }
  void number(const char* name, std::uint64_t& to) {
    if (const json* found = find(name, &json::is_number_unsigned)) to = found->get<std::uint64_t>();
  }
  void ids(const char* name, std::vector<std::uint64_t>& to, std::size_t most) {
    each(name, most, &json::is_number_unsigned, [&](const json& one) { to.push_back(one.get<std::uint64_t>()); });
  }
  void texts(const char* name, std::vector<std::string>& to, std::size_t most) {
    each(name, most, &json::is_string, [&](const json& one) {
      if (one.get_ref<const std::string&>().size() > kept_view::longest_query) wrong_ = name;
      to.push_back(one.get<std::string>());
    });
  }
  void times(const char* name, std::vector<time_ns>& to, std::size_t most) {
    each(name, most, &json::is_number_integer, [&](const json& one) {
      const bool large = one.is_number_unsigned() && one.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
      to.push_back(bounded(large ? INT64_MAX : one.get<time_ns>()));
    });
    std::sort(to.begin(), to.end());
    to.erase(std::unique(to.begin(), to.end()), to.end());
  }
  /// The index, among `count` words, of the word that the member `name` contains; nullopt if the member is missing or
  /// contains any other text.
  template <class Word>
  std::optional<std::size_t> word(const char* name, std::size_t count, Word&& get_word) {
    const json* found = find(name, &json::is_string);
    if (found == nullptr) return std::nullopt;
    for (std::size_t i = 0; i < count; ++i)
      if (get_word(i) == found->get_ref<const std::string&>()) return i;
    wrong_ = name;
    return std::nullopt;
  }
  const json* object(const char* name) { return find(name, &json::is_object); }

 private:
  using check = bool (json::*)() const noexcept;
  const json* find(const char* name, check current) {
    if (!wrong_.empty()) return nullptr;
    const auto found = in_.find(name);
    if (found == in_.end()) return nullptr;
    if ((*found.*current)()) return &*found;
    wrong_ = name;
    return nullptr;
  }
  template <class Take>
  void each(const char* name, std::size_t most, check current, Take&& take) {
    const json* list = find(name, &json::is_array);
    if (list == nullptr) return;
    if (list->size() > most) {
      wrong_ = name;
      return;
    }
    for (const json& one : *list) {
      if (!(one.*current)()) wrong_ = name;
      if (!wrong_.empty()) return;
      take(one);
    }
  }

  const json& in_;
  std::string wrong_;
};

std::string_view category_word(std::size_t i) { return index::category_name(static_cast<index::category>(i)); }
std::string_view layer_word(std::size_t i) { return get_name(static_cast<trace::layer>(i)); }
std::string_view kind_word(std::size_t i) { return get_name(static_cast<trace::memory_kind>(i)); }

json filter_out(const blocks_filter& filter) {
  json object = json::object();
  if (!filter.text.empty()) object["text"] = filter.text;
  if (filter.range) object["time"] = json::array({filter.range->begin, filter.range->end});
  if (filter.layer) object["layer"] = get_name(*filter.layer);
  if (filter.category) object["category"] = index::category_name(*filter.category);
  if (filter.min_bytes > 0) object["least_bytes"] = filter.min_bytes;
  if (filter.only_unfreed) object["never_freed"] = true;
  if (filter.only_unused) object["never_used"] = true;
  if (filter.device) object["device"] = trace::raw(*filter.device);
  if (filter.kind) object["kind"] = get_name(*filter.kind);
  if (filter.process != trace::process_id::none) object["process"] = trace::raw(filter.process);
  if (!filter.group_words.empty()) object["group_words"] = filter.group_words;
  if (filter.groups)
    object["groups"] = {{"by", grouping_words[static_cast<std::size_t>(filter.groups->by)]},
                        {"keys", filter.groups->keys},
                        {"except", filter.groups->except}};
  return object;
}

result<blocks_filter> filter_in(const json& value) {
  blocks_filter filter;
  members in(value);
  in.text("text", filter.text);
  std::vector<time_ns> time;
  in.times("time", time, 2);
  if (value.contains("time") && time.size() != 2) return wrong("time of blocks");
  if (time.size() == 2) filter.range = time_range{time[0], time[1]};
  if (const auto at = in.word("layer", trace::layer_count, layer_word)) filter.layer = static_cast<trace::layer>(*at);
  if (const auto at = in.word("category", index::category_count, category_word))
    filter.category = static_cast<index::category>(*at);
  if (const auto at = in.word("kind", trace::memory_kind_count, kind_word))
    filter.kind = static_cast<trace::memory_kind>(*at);
  in.number("least_bytes", filter.min_bytes);
  in.flag("never_freed", filter.only_unfreed);
  in.flag("never_used", filter.only_unused);
  if (value.contains("device")) {
    std::uint64_t device = 0;
    in.number("device", device);
    filter.device = trace::device_id{device};
  }
  std::uint64_t process = 0;
  in.number("process", process);
  filter.process = trace::process_id{process};
  in.text("group_words", filter.group_words);
  filter.group_words = printable(filter.group_words);
  if (const json* groups = in.object("groups")) {
    members subject(*groups);
    filter.groups.emplace();
    if (const auto by = subject.word("by", grouping_words.size(), [](std::size_t i) { return grouping_words[i]; }))
      filter.groups->by = static_cast<query::memory_grouping>(*by);
    subject.ids("keys", filter.groups->keys, query::memory_groups::limit);
    subject.flag("except", filter.groups->except);
    if (!subject.wrong().empty()) return wrong("groups of blocks: \"" + subject.wrong() + "\"");
  }
  if (!in.wrong().empty()) return wrong("filter of blocks: \"" + in.wrong() + "\"");
  return filter;
}

}  // namespace

json kept_view_out(const kept_view& view) {
  json object = json::object();
  if (!view.pinned.empty()) object["pinned_tracks"] = view.pinned;
  if (!view.hidden.empty()) object["hidden_tracks"] = view.hidden;
  if (!view.order.empty()) object["order_of_tracks"] = view.order;
  if (view.by_process) object["by_process"] = true;
  if (!view.generations.empty()) object["generations_ns"] = view.generations;
  if (view.blocks) object["blocks"] = filter_out(*view.blocks);
  if (!view.queries.empty()) object["queries"] = view.queries;
  return object;
}

result<kept_view> kept_view_in(const json& value) {
  if (!value.is_object()) return wrong("state of the views");
  kept_view view;
  members in(value);
  in.ids("pinned_tracks", view.pinned, kept_view::max_tracks);
  in.ids("hidden_tracks", view.hidden, kept_view::max_tracks);
  in.ids("order_of_tracks", view.order, kept_view::max_tracks);
  in.flag("by_process", view.by_process);
  in.times("generations_ns", view.generations, kept_view::max_generations);
  in.texts("queries", view.queries, kept_view::max_queries);
  if (const json* blocks = in.object("blocks")) {
    auto filter = filter_in(*blocks);
    if (!filter) return tl::unexpected(filter.error());
    view.blocks = std::move(*filter);
  }
  if (!in.wrong().empty()) return wrong("\"" + in.wrong() + "\"");
  return view;
}

std::string to_text(const kept_view& view) {
  return kept_view_out(view).dump(-1, ' ', false, json::error_handler_t::replace);
}

result<kept_view> parse_kept_view(const std::string& text) {
  const auto whole = parse_json(text);
  if (!whole)
    return fail(error_code::corrupt, "has no valid state of the views: " + whole.error().message, {}, {},
                whole.error().offset);
  return kept_view_in(*whole);
}

}  // namespace sluice::gui
