#include "core/import/unread_formats.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/lower_case.hpp"

namespace sluice::importing {
namespace {

using namespace std::string_view_literals;

constexpr unread_format nsys_report = {"is an Nsight Systems report, whose format is not public",
                                       "export it: nsys export --type sqlite FILE.nsys-rep, and open the .sqlite file"};
constexpr unread_format ncu_report = {"is an Nsight Compute report, which does not contain a recording of a program",
                                      "record with Nsight Systems or torch.profiler instead"};
constexpr unread_format rmm_debug_log = {"is RMM's debug log, which does not list allocations",
                                         "use the log of logging_resource_adaptor instead: set "
                                         "RMM_LOG_FILE, or rmm.enable_logging(\"rmm.csv\")"};
constexpr unread_format torch_file = {"is a torch.save file (a zip archive), not a memory snapshot",
                                      "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") writes one"};
constexpr unread_format zip = {"is a zip archive", "unpack it and open the recording inside"};
constexpr unread_format zstd = {"is compressed with zstd", "decompress it first: zstd -d FILE"};
constexpr unread_format xz = {"is compressed with xz", "decompress it first: xz -d FILE"};
constexpr unread_format bzip2 = {"is compressed with bzip2", "decompress it first: bzip2 -d FILE"};
constexpr unread_format tar = {"is a tar archive", "unpack it and open the recording inside"};
constexpr unread_format seven_zip = {"is a 7z archive", "unpack it and open the recording inside"};
constexpr unread_format utf16 = {"is text in UTF-16", "convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE"};
constexpr unread_format perfetto = {"is a binary Perfetto trace, which is not supported",
                                    "convert it: traceconv json FILE OUT.json"};
constexpr unread_format web_page = {"is a web page, perhaps a server's message instead of the file",
                                    "download the recording itself"};
constexpr unread_format picture_page = {
    "is a web page with an image of memory use, perhaps from export_memory_timeline",
    "export numbers instead: prof.export_memory_timeline(\"memory.raw.json.gz\")"};
constexpr unread_format columns = {
    "is a table in Parquet or Arrow, which is not supported",
    "export the Nsight Systems report as SQLite: nsys export --type sqlite FILE.nsys-rep"};
constexpr unread_format nsys_lines = {"is an Nsight Systems export in JSON lines, which is not supported",
                                      "export the report as SQLite: nsys export --type sqlite FILE.nsys-rep"};
constexpr unread_format nsys_table = {"is a table of nsys stats, which has only a part of a report",
                                      "open the .sqlite file that nsys stats created next to the report, or create "
                                      "one: nsys export --type sqlite FILE.nsys-rep"};
constexpr unread_format rmm_events = {"is an event log of RMM before version 0.14, which is not supported",
                                      "log with a newer RMM: set RMM_LOG_FILE, or rmm.enable_logging(\"rmm.csv\")"};
constexpr unread_format rocm_table = {"is a table of rocprof, which has only a part of the recording",
                                      "record with rocprofv3 --sys-trace --output-format rocpd, and open the .db file"};
constexpr unread_format ascend_table = {"is a table of Ascend's profiler, which has only a part of the recording",
                                        "open the trace_view.json next to it"};
constexpr unread_format hdf5 = {"is an HDF5 file", "open the profiler's own file"};
constexpr unread_format program = {"is a program or a library", "record it: sluice record -- PROGRAM"};

struct magic {
  std::size_t at = 0;
  std::string_view bytes;
  const unread_format* means = nullptr;
};
constexpr magic magics[] = {
    {0, "\x28\xb5\x2f\xfd"sv, &zstd},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     &xz},
    {0, "BZh"sv, &bzip2},
    {0, "7z\xbc\xaf\x27\x1c"sv, &seven_zip},
    {257, "ustar"sv, &tar},
    {0, "\xff\xfe"sv, &utf16},
    {0, "\xfe\xff"sv, &utf16},
    {0, "\x89HDF\r\n\x1a\n"sv, &hdf5},
    {0,
     "\x7f"
     "ELF"sv,
     &program},
    {0, "PAR1"sv, &columns},
    {0, "ARROW1"sv, &columns},
};

/// The beginnings of the first lines of tables.
constexpr std::pair<std::string_view, const unread_format*> tables[] = {
    {"Start (ns),Duration (ns),", &nsys_table},
    {"Time (%),", &nsys_table},
    {"Time(%),", &nsys_table},
    {"Event Type,Device ID,Address,", &rmm_events},
    {"\"Index\",\"KernelName\",", &rocm_table},
    {"\"Name\",\"Calls\",\"TotalDurationNs\",", &rocm_table},
    {"\"Kind\",\"Agent_Id\",", &rocm_table},
    {"\"Kind\",\"Operation\",", &rocm_table},
    {"\"Domain\",\"Function\",", &rocm_table},
    {"Name,Size(KB),Allocation Time(us),", &ascend_table},
    {"Step Id,Device_id,Model ID,", &ascend_table},
    {"Device_id,Model ID,Task ID,", &ascend_table},
};

struct suffix {
  std::string_view text;
  const unread_format* means = nullptr;
};
constexpr suffix suffixes[] = {
    {".nsys-rep", &nsys_report},    {".qdrep", &nsys_report}, {".qdstrm", &nsys_report}, {".ncu-rep", &ncu_report},
    {".perfetto-trace", &perfetto}, {".pftrace", &perfetto},  {".pt", &torch_file},      {".pth", &torch_file},
};

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

const unread_format* by_name(const std::string& path) {
  const std::string name = lower_case(path);
  for (const suffix& each : suffixes)
    if (name.ends_with(each.text)) return each.means;
  return nullptr;
}

/// Classifies a zip archive by the name of its first file, after a header of 30 bytes.
const unread_format* recognize_zip(std::string_view head) {
  const bool of_torch = has(head, "/data.pkl") || has(head, "/data/") || has(head, "/byteorder");
  return of_torch ? &torch_file : &zip;
}

const unread_format* get_table(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  for (const auto& [begin, means] : tables)
    if (head.starts_with(begin)) return means;
  return nullptr;
}

bool is_web_page(std::string_view head) {
  const std::string start = lower_case(head.substr(0, 256));
  return has(start, "<!doctype html") || has(start, "<html");
}

}  // namespace

bool is_nsys_lines(std::string_view head) { return head.starts_with("{\"Type\":") || head.starts_with("{\"Type\" :"); }

const unread_format* find_unread_format(std::string_view head, const std::string& path) {
  if (head.starts_with("PK\x03\x04"sv) || head.starts_with("PK\x05\x06"sv)) return recognize_zip(head);
  for (const magic& each : magics)
    if (head.size() >= each.at && head.substr(each.at).starts_with(each.bytes)) return each.means;
  // The lines of this log are "[thread][time][level] [A][Stream 0x1][Upstream 64B]...". In older versions, the level
  // comes first.
  if (has(head, "RMM LOG BEGIN") || (head.starts_with("[") && has(head, "][Stream ") && has(head, "[Upstream ")))
    return &rmm_debug_log;
  if (is_web_page(head)) return has(head, "data:image/") ? &picture_page : &web_page;
  if (is_nsys_lines(head)) return &nsys_lines;
  if (const unread_format* const table = get_table(head)) return table;
  return by_name(path);
}

const unread_format* find_unread_json(std::string_view member, std::string_view value) {
  static constexpr unread_format speedscope = {"is a speedscope profile, which has call stacks but no GPU events",
                                               "open the output of export_chrome_trace or sluice record"};
  static constexpr unread_format cpu_profile = {"is a CPU profile of a JavaScript program",
                                                "save the trace of the Performance panel instead"};
  static constexpr unread_format notebook = {"is a Jupyter notebook", "open the recording that it created"};
  static constexpr unread_format memory_stats = {"is a report of Sluice, not a recording",
                                                 "open the .sluice file that it was created from"};
  if (member == "$schema" && has(value, "speedscope")) return &speedscope;
  if (member == "nbformat") return &notebook;
  if (member == "schema" && has(value, "sluice.report")) return &memory_stats;
  if (member == "timeDeltas" || member == "samples") return &cpu_profile;
  return nullptr;
}

}  // namespace sluice::importing
