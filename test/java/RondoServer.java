import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A rondo server as a child process: on free ports, with a data file in a directory of its own. Ready means that the
 * HTTP port answers /readyz. A server that ends before that is an error that carries its log. The server and
 * its directory do not outlive the program.
 */
final class RondoServer {
  private static final Path BINARY =
      Path.of(System.getenv().getOrDefault("RONDO_BIN", "../../build/rondo")).toAbsolutePath();

  // Below the range from which the kernel takes the local ports of outgoing connections: a client that redials a
  // dead server in that range can be connected to itself.
  private static final int PORT_FIRST = 20_000;
  private static final int PORT_COUNT = 12_000;
  private static final long READY_MS = 60_000;

  private final Path directory;
  private final int grpcPort = freePort();
  private final int httpPort = freePort();
  private Process child;

  RondoServer() throws IOException, InterruptedException {
    directory = Files.createTempDirectory("rondo-java-");
    Runtime.getRuntime().addShutdownHook(new Thread(this::close));
    launch();
  }

  private static int freePort() {
    while (true) {
      int port = PORT_FIRST + ThreadLocalRandom.current().nextInt(PORT_COUNT);
      try (ServerSocket probe = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return probe.getLocalPort();
      } catch (IOException e) {
        continue;
      }
    }
  }

  String address() {
    return "127.0.0.1:" + grpcPort;
  }

  void launch() throws IOException, InterruptedException {
    Path log = directory.resolve("log");
    child =
        new ProcessBuilder(
                List.of(
                    BINARY.toString(), "server", "--data", directory.resolve("rondo.db").toString(), "--grpc", address(),
                    "--http", "127.0.0.1:" + httpPort))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .start();
    long deadline = System.nanoTime() + READY_MS * 1_000_000;
    while (!isReady()) {
      if (!child.isAlive() || System.nanoTime() > deadline)
        throw new IllegalStateException("the server did not start:\n" + Files.readString(log));
      Thread.sleep(50);
    }
  }

  private boolean isReady() {
    try {
      URI uri = URI.create("http://127.0.0.1:" + httpPort + "/readyz");
      return ((HttpURLConnection) uri.toURL().openConnection()).getResponseCode() == 200;
    } catch (IOException e) {
      return false;
    }
  }

  /** As a crash: nothing is said goodbye to. */
  void kill() throws InterruptedException {
    child.destroyForcibly().waitFor();
  }

  void close() {
    child.destroyForcibly();
    try (var paths = Files.walk(directory)) {
      paths.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
    } catch (IOException e) {
      // It is gone already.
    }
  }
}
