// Threads that share jobs: compiled loops that need nothing of Python.
//
// They are asked for one round of jobs after the other, every millisecond or so. Each takes one
// piece of work after the other, since cores may differ in speed. Whoever waits for
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

// Some work in pieces, which any threads do at the same time, and what is left when all are done.
class Job {
   public:
    virtual ~Job() = default;
    virtual std::size_t pieces() const { return 1; }
    virtual void work(std::size_t piece) = 0;
    virtual void finish() {}

    // Before the first piece is run.
    void begin() {
        left = pieces();
        failed = false;
    }
    // In any thread; what goes wrong first is kept.
    void run(std::size_t piece) noexcept {
        try {
            work(piece);
            if (left.fetch_sub(1) == 1) finish();
        } catch (...) {
            if (!failed.exchange(true)) error = std::current_exception();
        }
    }
    void raise() const {
        if (failed) std::rethrow_exception(error);
    }

   private:
    std::atomic<std::size_t> left{0};
    std::atomic<bool> failed{false};
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

    // All jobs, their pieces done by whoever is free. One thread may ask at a time.
    void run(const std::vector<Job*>& jobs) {
        std::vector<Piece> pieces;
        for (Job* job : jobs) {
            job->begin();
            for (std::size_t i = 0; i < job->pieces(); ++i) pieces.push_back({job, i});
        }
        if (threads.empty() || pieces.size() == 1) {
            for (const Piece& piece : pieces) piece.job->run(piece.number);
            for (const Job* job : jobs) job->raise();
            return;
        }
        const std::uint64_t round = (next.load() >> 32) + 1;
        // First a round without work, so that nobody takes a piece of one round for that of
        // another.
        next.store(round << 32 | NONE);
        current = pieces.data();
        count = pieces.size();
        done = 0;
        next.store(round << 32);
        {
            std::lock_guard lock(mutex);  // whoever is about to sleep sees the round, or is woken
        }
        changed.notify_all();
        while (work_on_one()) {
        }
        wait([&] { return done.load() == pieces.size(); }, WITHIN);
        for (const Job* job : jobs) job->raise();
    }

   private:
    struct Piece {
        Job* job;
        std::size_t number;
    };

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

    // Take the next piece of this round and do it, if there is one.
    bool work_on_one() {
        std::uint64_t seen = next.load();
        while ((seen & NONE) < count.load()) {
            const Piece* pieces = current.load();
            if (!next.compare_exchange_weak(seen, seen + 1)) continue;
            const std::size_t pieces_of_round = count.load();
            const Piece piece = pieces[seen & NONE];
            piece.job->run(piece.number);
            if (done.fetch_add(1) + 1 == pieces_of_round) {
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

    std::atomic<std::uint64_t> next{NONE};  // the round, and which of its pieces
    std::atomic<const Piece*> current{nullptr};
    std::atomic<std::size_t> count{0}, done{0};
    std::atomic<bool> stopped{false};
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::thread> threads;
};

inline void bind_team(py::module_& m) {
    py::class_<Job>(m, "Job", py::module_local()).def("__call__", [](Job& job) {
        Unlocked unlocked;
        job.begin();
        for (std::size_t i = 0; i < job.pieces(); ++i) job.run(i);
        job.raise();
    });
    py::class_<Team>(m, "ThreadPool", py::module_local())
        .def(py::init<int>(), py::arg("helpers"))
        .def("run", [](Team& team, const std::vector<Job*>& jobs) {
            for (const Job* job : jobs) expect(job != nullptr, "None is no job");
            Unlocked unlocked;
            team.run(jobs);
        });
}

}  // namespace graphdict
