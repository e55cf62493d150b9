"""emf_agent.py KIND FILE - listens as an agent does (KIND tcp or udp), prints the port and appends the
received bytes to FILE. SIGUSR1 closes the TCP connection, which it reports by a line."""
import signal
import socket
import sys

kind, name = sys.argv[1:]
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
listener.bind(("127.0.0.1", 0))
if kind == "tcp":
    listener.listen()
    signal.signal(signal.SIGUSR1, lambda *_: connection.shutdown(socket.SHUT_RDWR))
print(listener.getsockname()[1], flush=True)
with open(name, "ab", buffering=0) as file:
    while kind == "udp":
        line = listener.recv(65536)
        if not line.endswith(b"\n") or line.count(b"\n") != 1:
            line = b"a datagram is not a line\n"
        file.write(line)
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            file.writelines(lines)
        print("closed", flush=True)
