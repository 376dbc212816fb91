// The device service as a program: serve_main in a process of its own, over a scripted Device, with
// this process in the worker's place.
#include <gtest/gtest.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cuda/server/serve_main.h"
#include "cuda/server/watch.h"
#include "raw_client.h"
#include "scripted_device.h"
#include "temporary_directory.h"

namespace kde::service {
namespace {

using testing::bytes_of;
using testing::message_of;
using testing::RawClient;
using testing::ScriptedDevice;
using wire::Type;

// What the child runs; hang_ms is short, so that a hang is soon found.
struct Child {
  std::vector<std::string> arguments;
  Code made = Code::ok;  // of make_device
  bool deaf = false;     // jobs say nothing
  bool endless = false;  // jobs poll, and end when told to
  int hang_ms = 10000;
  bool no_control = false;  // stdin is /dev/null
  // The program is a grandchild, whose parent ends when it hears 'e' on this descriptor.
  int parent_control = -1;
};

int run_child(const Child& child) {
  ScriptedDevice device;
  Program program;
  program.name = "test";
  program.version = "1";
  program.hang_ms = child.hang_ms;
  program.make_device = [&](std::size_t, std::unique_ptr<Device>* out) {
    if (child.made != Code::ok) return Status::error(child.made, "no device here");
    auto made = std::make_unique<ScriptedDevice>();
    if (child.deaf || child.endless) made->hold(child.deaf);
    *out = std::move(made);
    return Status::success();
  };
  std::vector<std::string> arguments = child.arguments;
  arguments.insert(arguments.begin(), "test");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return serve_main(static_cast<int>(arguments.size()), argv.data(), program);
}

class DeviceProgram : public ::testing::Test {
 protected:
  ~DeviceProgram() override {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  // In the child only what a program may do after fork(2) in a process of one thread: the threads
  // of other tests have ended, or sleep in a pool that nothing here uses.
  void start(Child child) {
    int control[2], log[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control), 0);
    ASSERT_EQ(::pipe2(log, O_CLOEXEC), 0);
    pid_ = ::fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) {
      ::close(control[0]);
      ::close(log[0]);
      ::dup2(child.no_control ? ::open("/dev/null", O_RDONLY) : control[1], STDIN_FILENO);
      ::dup2(log[1], STDERR_FILENO);
      ::close(control[1]);
      ::close(log[1]);
      if (child.parent_control >= 0) {
        // The program's parent; this process's own log must not keep the pipe open.
        if (::fork() != 0) {
          ::close(STDIN_FILENO);
          ::close(STDERR_FILENO);
          char byte = 0;
          ::_exit(::read(child.parent_control, &byte, 1) == 1 ? 77 : 78);
        }
        ::close(child.parent_control);
      }
      ::_exit(run_child(child));
    }
    control_ = Descriptor(control[0]);
    log_ = Descriptor(log[0]);
    ::close(control[1]);
    ::close(log[1]);
  }

  // The next byte of the control socket; 0 if there is none.
  char hear() {
    pollfd child{control_.get(), POLLIN, 0};
    char byte = 0;
    return ::poll(&child, 1, testing::kGuardMs) == 1 && ::recv(control_.get(), &byte, 1, 0) == 1
               ? byte
               : '\0';
  }
  void say(char byte) { EXPECT_EQ(::send(control_.get(), &byte, 1, MSG_NOSIGNAL), 1); }

  // Waits until all processes of the child have ended: nobody has its stderr any more.
  bool log_ends() {
    for (;;) {
      pollfd child{log_.get(), POLLIN, 0};
      if (::poll(&child, 1, testing::kGuardMs) != 1) return false;
      char bytes[256];
      const ssize_t got = ::read(log_.get(), bytes, sizeof bytes);
      if (got <= 0) return got == 0;
      said_.append(bytes, static_cast<std::size_t>(got));
    }
  }

  // The exit status; negative: of the signal that ended it; INT_MIN: it did not end.
  int ended() {
    if (!log_ends()) return INT_MIN;
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  bool said(const std::string& text) const { return said_.find(text) != std::string::npos; }

  std::vector<std::string> served() const { return {"--socket", path_}; }

  // A client whose job is in the Device, heard of by a beat where the Device polls.
  std::unique_ptr<RawClient> with_job(bool wait_for_beat) {
    auto client = std::make_unique<RawClient>(path_);
    EXPECT_TRUE(client->connected());
    wire::Load request;
    request.n = 2;
    request.d = 1;
    const std::vector<double> points{1, 2};
    const Descriptor file = testing::memory_file(points);
    EXPECT_TRUE(client->send(message_of(Type::load, bytes_of(request)), {file.get()}));
    if (wait_for_beat) {
      const auto beat = client->receive_any();
      EXPECT_TRUE(beat && beat->head.type == Type::working);
    }
    return client;
  }

  const testing::TemporaryDirectory directory_;
  const std::string path_ = directory_.socket_path();
  std::string said_;
  pid_t pid_ = -1;
  Descriptor control_, log_;
};

TEST_F(DeviceProgram, SaysWhenItIsReadyAndAnswers) {
  start({.arguments = served()});
  EXPECT_EQ(hear(), 'r');
  RawClient client(path_);
  EXPECT_TRUE(client.connected());
  const auto welcome = client.ask(Type::hello, {});
  EXPECT_STREQ(welcome.as<wire::Welcome>().program, "test 1");
  for (int i = 0; i < 3; ++i) {
    say('p');
    EXPECT_EQ(hear(), 'p');
  }
  control_.reset();
  EXPECT_EQ(ended(), kExitStopped);
  EXPECT_TRUE(client.at_end());
  EXPECT_TRUE(said("kde_aqp_cudad: serving A, 0 MB\n")) << said_;
}

TEST_F(DeviceProgram, EndsAtOnceWhileAJobHearsNothing) {
  start({.arguments = served(), .deaf = true});
  EXPECT_EQ(hear(), 'r');
  const auto client = with_job(false);
  say('p');
  EXPECT_EQ(hear(), 'p');
  control_.reset();
  EXPECT_EQ(ended(), kExitStopped);
}

TEST_F(DeviceProgram, EndsAtOnceBySignals) {
  for (const int signal : {SIGTERM, SIGINT}) {
    start({.arguments = served(), .endless = true});
    EXPECT_EQ(hear(), 'r');
    const auto client = with_job(true);
    EXPECT_EQ(::kill(pid_, signal), 0);
    EXPECT_EQ(ended(), kExitStopped);
  }
  // The terminal's end is not its own, nor is a client's.
  start({.arguments = served(), .endless = true});
  EXPECT_EQ(hear(), 'r');
  EXPECT_EQ(::kill(pid_, SIGHUP), 0);
  EXPECT_EQ(::kill(pid_, SIGPIPE), 0);
  say('p');
  EXPECT_EQ(hear(), 'p');
}

TEST_F(DeviceProgram, EndsWhenTheDeviceHangs) {
  start({.arguments = served(), .deaf = true, .hang_ms = 100});
  EXPECT_EQ(hear(), 'r');
  const auto client = with_job(false);
  EXPECT_EQ(ended(), kExitHung);
  EXPECT_TRUE(said("kde_aqp_cudad: hung: load has not been heard of for")) << said_;
  EXPECT_TRUE(client->at_end());
}

TEST_F(DeviceProgram, ALongJobIsNoHang) {
  start({.arguments = served(), .endless = true, .hang_ms = 100});
  EXPECT_EQ(hear(), 'r');
  // Beats come every 100 ms, more or less: at least twice the hang limit.
  const auto client = with_job(true);
  for (int beat = 0; beat < 3; ++beat) ASSERT_TRUE(client->receive_any());
  say('p');
  EXPECT_EQ(hear(), 'p');
}

TEST_F(DeviceProgram, DiesWithItsParent) {
  // The program becomes this process's child when its own parent ends.
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int parent[2];
  ASSERT_EQ(::pipe2(parent, O_CLOEXEC), 0);
  start({.arguments = served(), .parent_control = parent[0]});
  EXPECT_EQ(hear(), 'r');
  const Descriptor close_read(parent[0]), close_write(parent[1]);
  EXPECT_EQ(::write(parent[1], "e", 1), 1);
  // The control socket is still open.
  EXPECT_EQ(ended(), 77);
  int status = 0;
  EXPECT_GT(::waitpid(-1, &status, 0), 0);
  // Status 0: the new parent may be a postmaster, to which a death by a signal is a crash.
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kExitStopped);
  EXPECT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

TEST_F(DeviceProgram, WithoutADeviceSaysSo) {
  start({.arguments = served(), .made = Code::unavailable});
  EXPECT_EQ(ended(), kExitNoDevice);
  EXPECT_EQ(said_, "kde_aqp_cudad: no device here\n");
}

TEST_F(DeviceProgram, WithoutADeviceIsSilentIfToldTo) {
  std::vector<std::string> arguments = served();
  arguments.push_back("--quiet-start");
  start({.arguments = arguments, .made = Code::unavailable});
  EXPECT_EQ(ended(), kExitNoDevice);
  EXPECT_EQ(said_, "");
}

TEST_F(DeviceProgram, ByHandRunsUntilASignal) {
  start({.arguments = {"--foreground", "--socket", path_}, .no_control = true});
  // It says what it serves when it listens.
  pollfd log{log_.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&log, 1, testing::kGuardMs), 1);
  RawClient client(path_);
  EXPECT_EQ(client.ask(Type::hello, {}).head.type, Type::welcome);
  EXPECT_EQ(::kill(pid_, SIGTERM), 0);
  EXPECT_EQ(ended(), kExitStopped);
}

TEST_F(DeviceProgram, RefusesWrongArguments) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"--socket"},
      {"--socket", path_, "more"},
      {"--socket", path_, "--nonsense"},
      {"--socket", path_, "--max-jobs", "0"},
      {"--socket", path_, "--max-jobs", "4x"},
      {"--socket", path_, "--max-jobs", "99999999999999999999"},
      {"--socket", path_, "--memory-limit", "-1"},
      {"--socket", path_, "--memory-limit", "9223372036854775807"},
      {"--socket", path_, "--fail=crash-at=1"},
      {"--socket", directory_.path() + "/absent/socket"},
      {"--socket", directory_.path() + "/" + std::string(200, 'x')},
  };
  for (const auto& arguments : wrong) {
    said_.clear();
    start({.arguments = arguments});
    EXPECT_EQ(ended(), kExitUsage) << said_;
    EXPECT_TRUE(said_.starts_with("kde_aqp_cudad: ")) << said_;
  }
  start({.arguments = served(), .no_control = true});
  EXPECT_EQ(ended(), kExitUsage);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DeviceProgram, TakesLimits) {
  start({.arguments = {"--socket", path_, "--memory-limit", "1", "--max-jobs", "1"}});
  EXPECT_EQ(hear(), 'r');
  RawClient client(path_);
  // 32 bytes each: one number more than a megabyte.
  EXPECT_EQ(client.load(std::vector<double>(32769, 1.0), 1).code(), Code::too_large);
  EXPECT_EQ(client.load(std::vector<double>(32768, 1.0), 1).code(), Code::ok);
}

}  // namespace
}  // namespace kde::service
