#!/usr/bin/env python3
"""Agents without machines: fake_agents.py REPORT MACHINE MODE... serves a recorded report at a port for each
mode, until it is killed. REPORT is of a machine without devices, MACHINE of one with devices. Modes: good
(current, another every second), old (always the same, without a date), silent (accepts connections and sends
nothing), garbage, endless, ahead (its clock is an hour ahead), vendor (MACHINE without our keys), doubtful
(MACHINE, an unknown verdict). Prints the ports, one per line."""
import asyncio
import email.utils
import json
import sys
import time

report = json.load(open(sys.argv[1]))
machine = json.load(open(sys.argv[2]))


def body(mode, made):
    if mode == "garbage":
        return b"\x00\xff not a report"
    report["time_ns"] = 10**18 if mode == "old" else int(made * 1e9) + (3600 * 10**9 if mode == "ahead" else 0)
    answer = report
    if mode == "vendor":
        answer = {key: value for key, value in machine.items() if key != "neuron_ext"}
    if mode == "doubtful":
        answer = json.loads(json.dumps(machine))
        answer["neuron_ext"]["devices"][0]["health"] = {"verdict": "unknown", "reasons": [{"reason": "heartbeat_still"}]}
    return json.dumps(dict(answer, time_ns=report["time_ns"])).encode()


def serve(mode):
    async def answer(reader, writer):
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                if mode == "silent":
                    await asyncio.sleep(3600)
                elif mode == "endless":
                    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                    while True:
                        writer.write(b" " * 65536)
                        await writer.drain()
                text = body(mode, time.time())
                now = time.time() + (3600 if mode == "ahead" else 0)
                date = b"" if mode == "old" else b"Date: %s\r\n" % email.utils.formatdate(now, usegmt=True).encode()
                writer.write(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n" % (date, len(text)) + text)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    return answer


async def main():
    servers = [await asyncio.start_server(serve(mode), "127.0.0.1", 0) for mode in sys.argv[3:]]
    for server in servers:
        print(server.sockets[0].getsockname()[1], flush=True)
    print("end", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
