#include "app/cli/output/print.hpp"

#include <unistd.h>

#include <cstdio>

#include "core/base/printable.hpp"

namespace sluice::cli {
namespace {

bool put(std::FILE* to, std::string_view text) { return std::fwrite(text.data(), 1, text.size(), to) == text.size(); }

void put_line(std::FILE* to, std::string_view line) { put(to, printable(line) + "\n"); }

}  // namespace

bool print(std::string_view text) { return put(stdout, printable(text, line_ends::keep)); }

bool print_document(std::string_view text) { return isatty(STDOUT_FILENO) == 1 ? print(text) : put(stdout, text); }

bool print_output(std::string_view text, bool document, std::string_view subject) {
  if ((document ? print_document(text) : print(text)) && std::fflush(stdout) == 0) return true;
  complain("cannot write the " + std::string(subject) + ": the output was closed or is full");
  return false;
}

void say(std::string_view line) { put_line(stdout, line); }
void remark(std::string_view line) { put_line(stderr, line); }
void complain(const std::string& line) { remark("sluice: " + line); }

}  // namespace sluice::cli
