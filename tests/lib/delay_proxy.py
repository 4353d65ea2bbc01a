# SPDX-License-Identifier: MIT
"""
A TCP proxy on a port of its own that delivers each byte after a delay, in both directions.

    with DelayProxy(relay.port, 0.04) as proxy:
        url = 'tcp://127.0.0.1:%d/web1' % proxy.port
"""
import asyncio
import contextlib
import threading


class DelayProxy:
    def __init__(self, port, delay):
        self.target, self.delay, self.port = port, delay, None
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        self.ready.wait()
        return self

    def __exit__(self, kind, error, traceback):
        self.loop.call_soon_threadsafe(self.end.set)
        self.thread.join()

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.serve())
        self.loop.close()

    async def serve(self):
        self.end, self.tasks = asyncio.Event(), set()
        server = await asyncio.start_server(self.connected, '127.0.0.1', 0)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        await self.end.wait()
        server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def connected(self, reader, writer):
        with contextlib.suppress(OSError):
            other, out = await asyncio.open_connection('127.0.0.1', self.target)
            for one in (reader, out), (other, writer):
                task = self.loop.create_task(self.pump(*one))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)

    async def pump(self, reader, writer):
        data = b'more'
        while data:
            try:
                data = await reader.read(65536)
            except OSError:
                data = b''
            self.loop.call_later(self.delay, self.deliver, writer, data)

    @staticmethod
    def deliver(writer, data):
        with contextlib.suppress(OSError, RuntimeError):
            if data:
                writer.write(data)
            else:
                writer.close()
