"""silent.py PORT FILE: listens there once nobody else does, writes FILE when somebody has connected, and says nothing."""
import errno
import socket
import sys
import time


def listen(port):
    while True:
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            time.sleep(0.01)


listener = listen(int(sys.argv[1]))
connections = [listener.accept()]
with open(sys.argv[2], "w") as file:
    file.write("connected\n")
while True:
    connections.append(listener.accept())
