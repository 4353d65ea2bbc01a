// SPDX-License-Identifier: MIT
/*
 * queue.cc - a queue between a producer and consumers in C++, with events in templates, member functions and lambdas.
 *
 *     waymark record -- examples/queue 100
 */
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <waymark/trace.h>

enum class priority : unsigned char { low, normal, urgent };
WAYMARK_LABELS(priorities, (low, 0), (normal, 1), (urgent, 2));

struct job {
	unsigned long id;
	std::string what;
	priority urgency;
};

template<class T> class queue {
public:
	void push(T item)
	{
		std::lock_guard<std::mutex> guard(lock_);
		items_.push_back(std::move(item));
		waymark(queue, push, this, wm_named("depth", items_.size()));
		ready_.notify_one();
	}

	/* Returns false when the queue is closed and empty. */
	bool pop(T *item)
	{
		std::unique_lock<std::mutex> guard(lock_);
		if (items_.empty() && !closed_)
			waymark(queue, wait, this);
		ready_.wait(guard, [this] { return closed_ || !items_.empty(); });
		if (items_.empty())
			return false;
		*item = std::move(items_.front());
		items_.pop_front();
		waymark(queue, pop, this, wm_named("depth", items_.size()));
		return true;
	}

	void close()
	{
		std::lock_guard<std::mutex> guard(lock_);
		closed_ = true;
		ready_.notify_all();
	}

private:
	std::mutex lock_;
	std::condition_variable ready_;
	std::deque<T> items_;
	bool closed_ = false;
};

static void work(queue<job> *jobs, int worker)
{
	job next;
	unsigned long done = 0;

	while (jobs->pop(&next)) {
		waymark(job, begin, next.id, next.what, wm_enum(priorities, next.urgency), worker);
		unsigned long sum = 0;
		for (unsigned long i = 0; i < 1000 * (next.id % 7 + 1); i++)
			sum += i ^ next.id;
		if (next.id % 7 == 6)
			waymark_logf(NOTICE, "job %lu was a long one", next.id);
		waymark(job, end, next.id, wm_hex(sum));
		done++;
	}
	waymark(job, worker_ends, worker, done);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20;
	queue<job> jobs;
	std::vector<std::thread> workers;

	for (int i = 0; i < 2; i++)
		workers.emplace_back(work, &jobs, i);
	for (unsigned long i = 0; i < count; i++)
		jobs.push(job{ i, "parcel " + std::to_string(i), i % 10 == 0 ? priority::urgent : priority::normal });
	jobs.close();
	for (std::thread &worker : workers)
		worker.join();
	return 0;
}
