#include "core/trace/model/system_calls.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace sluice::trace {
namespace {

// From asm/unistd_64.h of Linux 6.1. The kernel never reuses a number. The numbers from 335 to 423 are not used.
constexpr std::string_view first_text =
    "read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask "
    "rt_sigreturn ioctl pread64 pwrite64 readv writev access pipe select sched_yield mremap msync mincore madvise "
    "shmget shmat shmctl dup dup2 pause nanosleep getitimer alarm setitimer getpid sendfile socket connect accept "
    "sendto recvfrom sendmsg recvmsg shutdown bind listen getsockname getpeername socketpair setsockopt "
    "getsockopt clone fork vfork execve exit wait4 kill uname semget semop semctl shmdt msgget msgsnd msgrcv "
    "msgctl fcntl flock fsync fdatasync truncate ftruncate getdents getcwd chdir fchdir rename mkdir rmdir creat "
    "link unlink symlink readlink chmod fchmod chown fchown lchown umask gettimeofday getrlimit getrusage sysinfo "
    "times ptrace getuid syslog getgid setuid setgid geteuid getegid setpgid getppid getpgrp setsid setreuid "
    "setregid getgroups setgroups setresuid getresuid setresgid getresgid getpgid setfsuid setfsgid getsid capget "
    "capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack utime mknod uselib "
    "personality ustat statfs fstatfs sysfs getpriority setpriority sched_setparam sched_getparam "
    "sched_setscheduler sched_getscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval "
    "mlock munlock mlockall munlockall vhangup modify_ldt pivot_root _sysctl prctl arch_prctl adjtimex setrlimit "
    "chroot sync acct settimeofday mount umount2 swapon swapoff reboot sethostname setdomainname iopl ioperm "
    "create_module init_module delete_module get_kernel_syms query_module quotactl nfsservctl getpmsg putpmsg "
    "afs_syscall tuxcall security gettid readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr "
    "listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr tkill time futex sched_setaffinity "
    "sched_getaffinity set_thread_area io_setup io_destroy io_getevents io_submit io_cancel get_thread_area "
    "lookup_dcookie epoll_create epoll_ctl_old epoll_wait_old remap_file_pages getdents64 set_tid_address "
    "restart_syscall semtimedop fadvise64 timer_create timer_settime timer_gettime timer_getoverrun timer_delete "
    "clock_settime clock_gettime clock_getres clock_nanosleep exit_group epoll_wait epoll_ctl tgkill utimes "
    "vserver mbind set_mempolicy get_mempolicy mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify "
    "mq_getsetattr kexec_load waitid add_key request_key keyctl ioprio_set ioprio_get inotify_init "
    "inotify_add_watch inotify_rm_watch migrate_pages openat mkdirat mknodat fchownat futimesat newfstatat "
    "unlinkat renameat linkat symlinkat readlinkat fchmodat faccessat pselect6 ppoll unshare set_robust_list "
    "get_robust_list splice tee sync_file_range vmsplice move_pages utimensat epoll_pwait signalfd timerfd_create "
    "eventfd fallocate timerfd_settime timerfd_gettime accept4 signalfd4 eventfd2 epoll_create1 dup3 pipe2 "
    "inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open recvmmsg fanotify_init fanotify_mark "
    "prlimit64 name_to_handle_at open_by_handle_at clock_adjtime syncfs sendmmsg setns getcpu process_vm_readv "
    "process_vm_writev kcmp finit_module sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create "
    "kexec_file_load bpf execveat userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect "
    "pkey_alloc pkey_free statx io_pgetevents rseq";
constexpr std::string_view later_text =
    "pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig "
    "fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2 "
    "mount_setattr quotactl_fd landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret "
    "process_mrelease futex_waitv set_mempolicy_home_node";
constexpr std::size_t later_begin = 424;

/// Splits a text at its spaces. The text must have `Count` words.
template <std::size_t Count>
consteval std::array<std::string_view, Count> split(std::string_view text) {
  std::array<std::string_view, Count> words;
  for (std::string_view& word : words) {
    word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return words;
}

constexpr auto first_names = split<335>(first_text);
constexpr auto later_names = split<27>(later_text);
static_assert(first_names[202] == "futex" && first_names.back() == "rseq");
static_assert(later_names[449 - later_begin] == "futex_waitv" && later_names.back() == "set_mempolicy_home_node");

}  // namespace

std::string_view name_of_system_call(std::int64_t number) {
  if (number < 0) return {};
  const auto place = static_cast<std::size_t>(number);
  if (place < first_names.size()) return first_names[place];
  return place >= later_begin && place - later_begin < later_names.size() ? later_names[place - later_begin]
                                                                          : std::string_view();
}

}  // namespace sluice::trace
