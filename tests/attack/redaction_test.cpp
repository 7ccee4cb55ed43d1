// Searches the bytes of every written file for secrets that --redact promises to remove.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/lower_case.hpp"
#include "core/export/export.hpp"
#include "core/export/recording/merge.hpp"
#include "core/export/recording/trim.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"
#include "core/trace/model/schema.hpp"
#include "tests/instrumentation/writer/recording.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;
using namespace trace;

/// A form in which a text may contain a secret. "{}" is replaced by a number that differs in each text; the part
/// between "[[" and "]]" is encoded in Base64.
struct form {
  std::string_view text;
  std::string_view secret;  ///< In lower case.
};

constexpr std::array forms = {
    // HTTP headers.
    form{"Authorization: Basic [[ann:sikritbasic{}]]", "sikritbasic"},
    form{"authorization: Bearer sikritbearer{}", "sikritbearer"},
    form{"sent Bearer sikritbear{} to it", "sikritbear"},
    form{"after%20Bearer sikritafter{}", "sikritafter"},
    form{"then Basic [[ann:sikritthen{}]] to it", "sikritthen"},
    form{"curl -H 'X-Api-Key: sikritxapi{}' there", "sikritxapi"},
    form{"Cookie: session=sikritcookie{}; theme=sikritdark", "sikrit"},
    form{"Set-Cookie: id=sikritset{}; Path=/", "sikritset"},
    form{"Proxy-Authorization: Digest username=sikritdigest{}, realm=sikritrealm", "sikrit"},
    // Values after names of secrets.
    form{"password: sikritpass{}", "sikritpass"},
    form{"passwd=sikritpasswd{}", "sikritpasswd"},
    form{"the password is sikritis{}", "sikritis"},
    form{"password={}", "password=0"},
    form{"key=sikritkey{}", "sikritkey"},
    form{"token=sikrittoken{}", "sikrittoken"},
    form{"Token: sikrittok{}", "sikrittok"},
    form{"secret=sikritsecret{}", "sikritsecret"},
    form{"client_secret => sikritarrow{}", "sikritarrow"},
    form{"AWS_SECRET_ACCESS_KEY=sikritaws{}", "sikritaws"},
    form{"api_key = 'sikritapi{} sikritmore'", "sikrit"},
    form{"{\"password\": \"sikritjson{}\\\"sikrittail\", \"n\": 1}", "sikrit"},
    form{"{'access_token': 'sikritdict{}'}", "sikritdict"},
    form{"environ[\"HF_TOKEN\"] = \"sikritenviron{}\"", "sikritenviron"},
    form{"<password>sikritxml{}</password>", "sikritxml"},
    form{"dbPassword=sikritcamel{}", "sikritcamel"},
    form{"password=sikritcomma{},sikrittail", "sikrit"},
    form{"passphrase: sikritwords of {} sikrittail", "sikrit"},
    form{"user:sikritname{}", "sikritname"},
    form{"net use /user:sikritnet{} /password:sikritslash", "sikrit"},
    // Command-line options.
    form{"mysql -psikritmy{} db", "sikritmy"},
    form{"sshpass -p sikritsshpass{} ssh", "sikritsshpass"},
    form{"run --password sikritopt{} now", "sikritopt"},
    form{"run --password=sikritopteq{}", "sikritopteq"},
    form{"java -secret sikritjava{}", "sikritjava"},
    form{"curl -u ann:sikritcurl{}", "sikritcurl"},
    form{"machine db login sikritnetrc{} password sikrittail", "sikrit"},
    // User@host, and network addresses.
    form{"ann:sikritat{}@gpu-box", "sikritat"},
    form{"ann:sik,rit;sikritsigns{}@gpu-box", "sikritsigns"},
    form{"ssh sikritssh{}@gpu-box", "sikritssh"},
    form{"mail <sikritmail{}@example.org> now", "sikritmail"},
    form{"postgres://ann:sikriturl{}@sikritdb:5432/x", "sikrit"},
    form{"https://hub.example/x?sig=a,sikritquery{}&x=1", "sikritquery"},
    form{"from 10.51.{.}:29500", "10.51."},
    form{"peer [fe80::51c:{}]:80 and fe80::51c%eth0", "fe80::51c"},
    form{"port {} of de:ad:51:c0:12:34", "de:ad:51:c0"},
    // Tokens recognized by their form.
    form{"ghp_sikritsikrit{}sikrit", "sikrit"},
    form{"has-hf_sikritsikrit{}sikrit", "sikrit"},
    form{"sk-proj-sikritsikrit{}", "sikrit"},
    form{"AKIASIKRIT000000{}", "sikrit"},
    form{"glpat-sikritgitlab{}ab", "sikritgitlab"},
    form{"xoxb-sikritslack{}", "sikritslack"},
    form{"nvapi-sikritnvidia{}ab", "sikritnvidia"},
    form{"eyJhbGciOiJIUzI1NiJ9.[[{\"sub\":\"sikritjwt{}\"}]].c2ln", "sikritjwt"},
    form{"-----BEGIN RSA PRIVATE KEY-----\nsikritpem{}\n-----END RSA PRIVATE KEY-----", "sikritpem"},
    form{"has [[ann said sikritblob{}]] in it", "sikritblob"},
    // Paths.
    form{"open /home/sikrithome{}/sikritdir/x.py", "sikrit"},
    form{"cannot open /home/sikritfirst sikritlast/x{}.py here", "sikrit"},
    form{"wrote to /data/sikritdata{} and /srv/sikritdir/sikritdata", "sikrit"},
    form{"C:\\Users\\sikritwin{}\\x.py", "sikritwin"},
    form{"D:/work/sikritdrive{}/x.py", "sikritdrive"},
    form{"\\\\sikritserver{}\\share\\x.py", "sikritserver"},
    form{"file:///data/sikritfile{}/x.py", "sikritfile"},
    form{"~sikrittilde{}/x.py", "sikrittilde"},
    // Encodings of paths and of other secrets.
    form{"wrote %2Fhome%2Fsikritpercent{}%2Fx.py", "sikritpercent"},
    form{"wrote %252Fhome%252Fsikrittwice{}%252Fx.py", "sikrittwice"},
    form{"wrote \uff0fhome\uff0fsikritwide{}\uff0fx.py", "sikritwide"},
    form{"\\u002fdata\\u002fsikritescape{}\\u002fx.py", "sikritescape"},
    form{"&#47;data&#x2f;sikrithtml{}&#47;x.py", "sikrithtml"},
    form{"\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44\uff1asikritletters{}", "sikritletters"},
    form{"%70assword%3Dsikritenc{}", "sikritenc"},
    form{"pass\u200bword=sikritzero{}", "sikritzero"},
    // Users and machines, known from other texts or from the text itself.
    form{"USER=sikritlogin LOGNAME='sikritfolk' HOME=/root-of/sikrithouse {}", "sikrit"},
    form{"run {} by sikritlogin, sikritfolk, sikrithouse and sikritfirst sikritlast", "sikrit"},
    form{"SIKRITLOGIN's laptop {}", "sikritlogin"},
    form{"train_SikritLogin {}", "sikrit"},
    form{"sikritlogins-laptop {}", "sikritlogin"},
    form{"sikritlogins-laptop{}.local", "sikritlogin"},
    form{"on sikritbox{}.internal", "sikritbox"},
    form{"HOSTNAME=sikritnode", "sikritnode"},
    form{"rank {} of sikritnode and sikrithost", "sikrit"},
};

/// Texts that must stay: none of them identifies a machine or a user.
constexpr std::array<std::string_view, 50> innocent = {
    "layer: 3",
    "tokens=128",
    "tokens=131072",
    "token=128",
    "key_value_cache",
    "token_embedding",
    "std::pair<int, float>",
    "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >",
    "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4>(cutlass_80::Params)",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "aten::add_",
    "aten::scaled_dot_product_attention",
    "autograd::engine::evaluate_function: AddmmBackward0",
    "Optimizer.step#AdamW.step",
    "ProfilerStep#12",
    "c10::add",
    "c10::cuda::memcpy",
    "dead::beef",
    "std::sort",
    "Foo::~Foo()",
    "~unique_ptr()",
    "operator==",
    "operator=",
    "void f<float, 4>(a, b)",
    "12 GB/s",
    "3/4 done",
    "at 12:30:45",
    "version 1.2.3",
    "forward(query: Tensor, key: Tensor, value: Tensor)",
    "batch=4",
    "lr=1e-4",
    "Basic Residual",
    "memcpy@GLIBC_2.14",
    "cudaMalloc@plt",
    "@triton.jit",
    "triton_poi_fused_add_0d1d2",
    "volta_sgemm_128x64_nn",
    "max_pool2d",
    "torch.nn.functional.linear",
    "DataLoader worker 3",
    "threading.local",
    "q@k.T",
    "key",
    "token",
    "password check",
    "secret sharing layer",
    "model.layers.3.self_attn.k_proj",
    "num_key_value_heads=8",
    "std::map<key, token>",
    "case: 100%"};
/// Names in code that must stay.
constexpr std::array<std::string_view, 5> innocent_code = {"foo::key=7u", "foo::token=end>()",
                                                           "f() [with Key = my_type]", "kernel<a=b>", "foo<key>(int)"};

template <class Member>
constexpr bool is_id = std::is_enum_v<Member> && sizeof(Member) == sizeof(std::uint64_t);

void replace_all(std::string& in, std::string_view subject, const std::string& by) {
  for (std::size_t at = in.find(subject); at != std::string::npos; at = in.find(subject, at + by.size()))
    in.replace(at, subject.size(), by);
}

constexpr std::string_view base64_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(std::string_view text) {
  std::string line;
  std::uint32_t held = 0, bits = 0;
  for (const char c : text) {
    held = held << 8U | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) line += base64_letters[held >> (bits - 6) & 63U];
  }
  if (bits > 0) line += base64_letters[held << (6 - bits) & 63U];
  while (line.size() % 4 != 0) line += '=';
  return line;
}

/// Decodes a run of Base64 characters.
std::string from_base64(std::string_view text) {
  std::string line;
  std::uint32_t held = 0, bits = 0;
  for (const char c : text) {
    held = held << 6U | static_cast<std::uint32_t>(base64_letters.find(c) & 63U);
    if (bits += 6; bits < 8) continue;
    bits -= 8;
    line += static_cast<char>(held >> bits & 255U);
  }
  return line;
}

std::string filled(const form& as, unsigned number) {
  std::string text(as.text);
  const std::string digits = std::to_string(10'000 + number % 10'000).substr(1);
  replace_all(text, "{}", digits);
  replace_all(text, "{.}", std::to_string(number / 250 % 250) + "." + std::to_string(number % 250));
  if (const std::size_t begin = text.find("[["), end = text.find("]]"); begin != std::string::npos)
    text.replace(begin, end + 2 - begin, to_base64(text.substr(begin + 2, end - begin - 2)));
  return text;
}

/// Plants rows with a text in every field. Columns that are added to a kind of row are included automatically.
class planter {
 public:
  explicit planter(file_writer& to) : to_(to) {}

  void plant() {
    // A host row with a host name, which redaction then knows.
    host_row host;
    host.id = known_host;
    host.name = to_.intern("sikrithost.example");
    to_.add(host);
#define SLUICE_PLANT(row, kind) plant_rows<row>();
    SLUICE_FOR_EACH_ROW(SLUICE_PLANT)
#undef SLUICE_PLANT
  }
  [[nodiscard]] unsigned texts() const { return texts_; }

 private:
  template <class Row>
  void plant_rows() {
    if constexpr (!std::is_same_v<Row, string_row>) {
      std::uint64_t id = 0;
      for (const form& each : forms) plant_row<Row>(++id, [&] { return filled(each, ++texts_); });
      // A host name can be any word: redaction removes it everywhere.
      if constexpr (!std::is_same_v<Row, host_row>)
        for (const std::string_view each : innocent) plant_row<Row>(++id, [&] { return std::string(each); });
      if constexpr (std::is_same_v<Row, kernel_event>)
        for (const std::string_view each : innocent_code) plant_row<Row>(++id, [&] { return std::string(each); });
    }
  }

  template <class Row, class Text>
  void plant_row(std::uint64_t id, Text&& text) {
    Row row;
    const auto set = [&](auto field) {
      auto& member = row.*field.member;
      using type = std::remove_reference_t<decltype(member)>;
      static_assert(!std::is_same_v<type, std::string>, "a text outside the table of texts is not redacted");
      if constexpr (std::is_same_v<type, string_id>) {
        member = to_.intern(text());
      } else if constexpr (is_id<type> && !std::is_same_v<type, event_id>) {
        member = type{id};
      }
    };
    schema<Row>::apply([&](auto... fields) { (set(fields), ...); });
    if constexpr (is_event_row<Row>) {
      row.id = event_id{++events_};
      row.time = 1'000'000 + static_cast<time_ns>(events_);
      row.process = process_id{1};  // A PyTorch snapshot covers one process.
    }
    if constexpr (requires { row.end; } && is_event_row<Row>) row.end = row.time + 1;
    if constexpr (std::is_base_of_v<alloc_event, Row>) {
      row.bytes = 1000;
      row.parent = block_id::none;
      row.device = device_id{1};
      row.kind = memory_kind::device;
      row.layer = layer::framework;
    }
    if constexpr (std::is_same_v<Row, live_block_event>) row.block = block_id{id + 1000};
    if constexpr (std::is_same_v<Row, process_row>) row.host = known_host;
    if constexpr (std::is_same_v<Row, frame_row>) row.kind = frame_kind::python;
    if constexpr (std::is_same_v<Row, stack_row>) row.parent = stack_id::none;
    if constexpr (std::is_same_v<Row, attribute_event>) row.target = event_id{1};
    to_.add(row);
  }

  static constexpr host_id known_host{1000};

  file_writer& to_;
  unsigned texts_ = 0;
  std::uint64_t events_ = 0;
};

void plant_everywhere(const std::string& path, bool with_summary) {
  auto output = file_writer::create(path);
  ASSERT_TRUE(output.has_value());
  planter whole(*output);
  whole.plant();
  EXPECT_GT(whole.texts(), 25 * forms.size()) << "some kinds of rows have no planted texts";
  summary::finalize_options options;
  if (with_summary) options.min_events = 1;
  ASSERT_TRUE(summary::finalize(*output, options).has_value());
}

std::shared_ptr<const snapshot> opened(const std::string& path) {
  const auto file = file::open(path);
  EXPECT_TRUE(file.has_value()) << path;
  return file ? (*file)->latest() : nullptr;
}

// --- searching -----------------------------------------------------------------------------------------------------

std::string unpacked(const std::string& path) {
  std::string text;
  gzFile in = gzopen(path.c_str(), "rb");
  for (std::array<char, 65536> piece; const int got = gzread(in, piece.data(), piece.size());) {
    if (got < 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  gzclose(in);
  return text;
}

/// All bytes of a file, or of a folder's files with their names. Texts of recordings are decompressed.
std::string get_bytes(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    std::string text;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file())
        text += entry.path().lexically_relative(path).string() + "\n" + get_bytes(entry.path());
    return text;
  }
  std::string content = unpacked(path);  // If the file is not a recording, `unpacked` returns it unchanged.
  if (path.extension() != ".sluice") return content;
  const auto recording = opened(path);
  for (const string_row& row : recording->tables().strings.rows()) content += "\n" + row.text;
  return content;
}

std::string without_percent(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool encoded = text[at] == '%' && at + 2 < text.size() &&
                         std::isxdigit(static_cast<unsigned char>(text[at + 1])) != 0 &&
                         std::isxdigit(static_cast<unsigned char>(text[at + 2])) != 0;
    line += encoded ? static_cast<char>(std::stoi(std::string(text.substr(at + 1, 2)), nullptr, 16)) : text[at];
    at += encoded ? 2 : 0;
  }
  return line;
}

/// The decoded Base64 words of `text`, one per line.
std::string without_base64(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of(base64_letters, at), text.size());
    if (end - at >= 16) line += from_base64(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return line;
}

std::string without_zeros(std::string text) {  // For ASCII in UTF-16.
  std::erase(text, '\0');
  return text;
}

/// Each secret contains one of these stems, so a search for them quickly shows that there is no secret.
constexpr std::array<std::string_view, 5> stems = {"sikrit", "10.51.", "fe80::51c", "de:ad:51:c0", "password=0"};

void expect_none(const std::string& bytes, const std::string& where) {
  const std::array readings = {lower_case(bytes), lower_case(without_percent(without_percent(bytes))),
                               lower_case(without_base64(bytes)), lower_case(without_zeros(bytes))};
  for (const form& one : forms)
    ASSERT_TRUE(std::any_of(stems.begin(), stems.end(), [&](auto stem) { return one.secret.starts_with(stem); }))
        << one.text;
  std::set<std::string_view> found;
  for (const std::string& each : readings) {
    const auto holds = [&](std::string_view subject) { return each.find(subject) != std::string::npos; };
    if (std::none_of(stems.begin(), stems.end(), holds)) continue;
    for (const form& one : forms) {
      const std::size_t at = each.find(one.secret);
      if (at == std::string::npos || !found.insert(one.secret).second) continue;
      ADD_FAILURE() << where << " reveals " << one.secret << " of '" << one.text << "': ..."
                    << each.substr(at < 60 ? 0 : at - 60, 120 + one.secret.size()) << "...";
    }
  }
}

/// A fake "python3" that keeps the data that would become Parquet files.
class kept_parquet {
 public:
  explicit kept_parquet(const writer::temporary_folder& in) : before_(getenv("PATH")) {
    std::filesystem::create_directory(in.file("bin"));
    std::ofstream(in.file("bin/python3"))
        << "#!/bin/sh\nto=$3/events/run=run/rank=0\nmkdir -p $to\necho ready 1.0\n"
           "sed -u -n -e \"w $to/part-0.parquet\" -e '/{\"end\": true}/q'\necho done 1\n";
    std::filesystem::permissions(in.file("bin/python3"), std::filesystem::perms::owner_all);
    setenv("PATH", (in.file("bin") + ":" + before_).c_str(), 1);
  }
  ~kept_parquet() { setenv("PATH", before_.c_str(), 1); }
  kept_parquet(const kept_parquet&) = delete;
  kept_parquet& operator=(const kept_parquet&) = delete;

 private:
  std::string before_;
};

enum class made_as : std::uint8_t { small, with_summary, merged, cut };

class redaction_test : public testing::TestWithParam<made_as> {
 protected:
  void SetUp() override {
    plant_everywhere(folder_.file("planted.sluice"), GetParam() != made_as::small);
    trace_ = opened(folder_.file("planted.sluice"));
    if (GetParam() == made_as::merged) {
      plant_everywhere(folder_.file("other.sluice"), false);
      const auto done = exports::merge({trace_, opened(folder_.file("other.sluice"))}, folder_.file("merged.sluice"));
      ASSERT_TRUE(done.has_value()) << done.error().to_string();
      trace_ = opened(folder_.file("merged.sluice"));
    }
    if (GetParam() == made_as::cut) {
      const auto done = exports::trim(*trace_, {.range = {0, 10'000'000}, .redact = {}}, folder_.file("part.sluice"));
      ASSERT_TRUE(done.has_value()) << done.error().to_string();
      trace_ = opened(folder_.file("part.sluice"));
    }
    std::string text;
    for (const string_row& row : trace_->tables().strings.rows()) text += lower_case(row.text) + "\n";
    ASSERT_THAT(text, HasSubstr("sikritpass0"));
  }

  /// Exports and returns the bytes written.
  std::string write(const exports::format& as, bool redacted) {
    exports::options wanted;
    wanted.name = "run";
    if (redacted) wanted.redact = exports::redaction::all();
    const std::string out = folder_.file((redacted ? "redacted" : "plain") + std::string(as.name));
    const auto done = exports::write(*trace_, as, out, wanted);
    EXPECT_TRUE(done.has_value()) << done.error().to_string();
    return get_bytes(out);
  }

  writer::temporary_folder folder_;
  std::shared_ptr<const snapshot> trace_;
};

// Tried: reading secrets from the bytes of an export with --redact, in each format.
TEST_P(redaction_test, leaves_no_secret_in_any_format) {
  const kept_parquet python(folder_);
  for (const exports::format& as : exports::formats()) {
    SCOPED_TRACE(as.name);
    ASSERT_THAT(lower_case(write(as, false)), HasSubstr("sikrit")) << "without redaction, the secrets must be there";
    const std::string bytes = write(as, true);
    EXPECT_THAT(bytes, HasSubstr("[redacted]"));
    expect_none(bytes, std::string(as.name));
  }
}

// Tried: reading secrets from a recording trimmed with --redact, in its texts and in the bytes between them.
TEST_P(redaction_test, leaves_no_secret_in_a_recording_that_was_cut) {
  const std::string out = folder_.file("cut.sluice");
  const auto cut = exports::trim(*trace_, {.range = {0, 10'000'000}, .redact = exports::redaction::all()}, out);
  ASSERT_TRUE(cut.has_value()) << cut.error().to_string();
  const std::string bytes = get_bytes(out);
  expect_none(bytes, "the recording");
  EXPECT_THAT(bytes, HasSubstr("x.py")) << "file names stay, to keep stacks readable";
}

// Tried: names that identify nobody, which redaction must not remove.
TEST_P(redaction_test, keeps_innocent_names) {
  exports::options wanted;
  wanted.redact = exports::redaction::all();
  for (const char* table : {"kernel", "api_call", "host_range", "marker", "message", "alloc"}) {
    wanted.tables = {table};
    const std::string out = folder_.file(std::string(table) + ".csv");
    ASSERT_TRUE(exports::write(*trace_, *exports::find_format("csv"), out, wanted).has_value());
    const std::string bytes = get_bytes(out);
    const auto expect = [&](std::string_view name) { EXPECT_THAT(bytes, HasSubstr(std::string(name))) << table; };
    for (const std::string_view name : innocent) expect(name);
    if (wanted.tables[0] == "kernel")
      for (const std::string_view name : innocent_code) expect(name);
  }
}

std::string get_name(const testing::TestParamInfo<made_as>& test) {
  constexpr std::array names = {"small", "with_summary", "merged", "cut"};
  return names[static_cast<std::size_t>(test.param)];
}

INSTANTIATE_TEST_SUITE_P(recordings, redaction_test,
                         testing::Values(made_as::small, made_as::with_summary, made_as::merged, made_as::cut),
                         get_name);

}  // namespace
}  // namespace sluice
