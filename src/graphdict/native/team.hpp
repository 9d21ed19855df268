// Threads that share jobs: calls of compiled loops that need nothing of Python.
//
// They are asked for one round of jobs after the other, every millisecond or so. Whoever waits for
// the next round, or for the end of one, looks again and again for a while before going to sleep:
// waking up takes as long as some rounds do.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "arrays.hpp"

namespace graphdict {

// To be run once.
class Job {
   public:
    virtual ~Job() = default;
    virtual void work() = 0;

    // In any thread; what goes wrong is kept.
    void run() noexcept {
        try {
            work();
        } catch (...) {
            error = std::current_exception();
        }
    }
    void raise() const {
        if (error) std::rethrow_exception(error);
    }

   private:
    std::exception_ptr error;
};

inline void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

class Team {
   public:
    // So many threads beside the one that asks.
    explicit Team(int helpers) {
        expect(helpers >= 0, "helpers must not be negative");
        try {
            for (int i = 0; i < helpers; ++i) threads.emplace_back([this] { serve(); });
        } catch (...) {  // there may be no more threads to have
            stop();
            throw;
        }
    }

    ~Team() { stop(); }

    // All jobs, each done by whoever is free. One thread may ask at a time.
    void run(const std::vector<Job*>& jobs) {
        const std::uint64_t round = (next.load() >> 32) + 1;
        // First a round without work, so that nobody takes a job of one round for that of another.
        next.store(round << 32 | NONE);
        current = jobs.data();
        count = jobs.size();
        done = 0;
        next.store(round << 32);
        {
            std::lock_guard lock(mutex);  // whoever is about to sleep sees the round, or is woken
        }
        changed.notify_all();
        while (work_on_one()) {
        }
        wait([&] { return done.load() == jobs.size(); }, WITHIN);
        for (const Job* job : jobs) job->raise();
    }

   private:
    void stop() {
        {
            std::lock_guard lock(mutex);
            stopped = true;
        }
        changed.notify_all();
        for (auto& thread : threads) thread.join();
        threads.clear();
    }

    static constexpr std::uint64_t NONE = 0xffffffff;
    // For the next round, while Python is at work; and for the end of one, which others may need
    // this core for.
    static constexpr auto BETWEEN = std::chrono::microseconds(600);
    static constexpr auto WITHIN = std::chrono::microseconds(200);

    // Take the next job of this round and do it, if there is one.
    bool work_on_one() {
        std::uint64_t seen = next.load();
        while ((seen & NONE) < count.load()) {
            Job* const* jobs = current.load();
            if (!next.compare_exchange_weak(seen, seen + 1)) continue;
            const std::size_t jobs_of_round = count.load();
            jobs[seen & NONE]->run();
            if (done.fetch_add(1) + 1 == jobs_of_round) {
                std::lock_guard lock(mutex);
                changed.notify_all();
            }
            return true;
        }
        return false;
    }

    void serve() {
        while (true) {
            wait([this] { return stopped.load() || (next.load() & NONE) < count.load(); }, BETWEEN);
            if (stopped) return;
            work_on_one();
        }
    }

    template <class Condition>
    void wait(Condition holds, std::chrono::microseconds patience) {
        const auto until = std::chrono::steady_clock::now() + patience;
        do {
            for (int i = 0; i < 64; ++i, pause())
                if (holds()) return;
        } while (std::chrono::steady_clock::now() < until);
        std::unique_lock lock(mutex);
        changed.wait(lock, holds);
    }

    std::atomic<std::uint64_t> next{NONE};  // the round, and which of its jobs
    std::atomic<Job* const*> current{nullptr};
    std::atomic<std::size_t> count{0}, done{0};
    std::atomic<bool> stopped{false};
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::thread> threads;
};

inline void bind_team(py::module_& m) {
    py::class_<Job>(m, "Job", py::module_local()).def("__call__", [](Job& job) {
        Unlocked unlocked;
        job.run();
        job.raise();
    });
    py::class_<Team>(m, "Team", py::module_local())
        .def(py::init<int>(), py::arg("helpers"))
        .def("run", [](Team& team, const std::vector<Job*>& jobs) {
            for (const Job* job : jobs) expect(job != nullptr, "None is no job");
            Unlocked unlocked;
            team.run(jobs);
        });
}

}  // namespace graphdict
