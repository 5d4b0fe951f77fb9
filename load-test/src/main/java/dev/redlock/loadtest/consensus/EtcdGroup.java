package dev.redlock.loadtest.consensus;

import dev.redlock.trial.nodes.Shell;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** @threading caller-confined */
final class EtcdGroup extends ConsensusService.ServerGroup {
    private static final Pattern VERSION = Pattern.compile("etcd Version: (\\S+)");
    private static final int PROBE_LIMIT_MS = 1_000;

    EtcdGroup(int count, Path folder) {
        super(count, folder, 1);
    }

    static Optional<String> missing() {
        return missing(System.getenv().getOrDefault("PATH", ""));
    }

    static Optional<String> missing(String searchPath) {
        return executable(searchPath).isPresent()
                ? Optional.empty()
                : Optional.of("there is no etcd on PATH: install it (on Debian: apt-get install etcd-server)");
    }

    private static Optional<Path> executable(String searchPath) {
        return Shell.onPath(searchPath, List.of("etcd")).stream().findFirst();
    }

    static String version() {
        try {
            Matcher matcher = VERSION.matcher(Shell.run(List.of(program(), "--version")).said());
            return "etcd " + (matcher.find() ? matcher.group(1) : "of an unknown version");
        } catch (IOException e) {
            return "etcd of an unknown version";
        }
    }

    private static String program() {
        return executable(System.getenv().getOrDefault("PATH", "")).map(Path::toString).orElse("etcd");
    }

    @Override
    List<String> command(int index) {
        String client = clientUrl(index);
        String peer = peerUrl(index);
        return List.of(program(), "--name", name(index), "--data-dir", folder.resolve(name(index)).toString(),
                "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster(), "--initial-cluster-token",
                folder.getFileName().toString(), "--initial-cluster-state", "new", "--logger", "zap", "--log-level",
                "warn");
    }

    private String cluster() {
        return IntStream.range(0, addresses.size())
                .mapToObj(i -> name(i) + "=" + peerUrl(i))
                .collect(Collectors.joining(","));
    }

    private static String name(int index) {
        return "etcd" + index;
    }

    private String clientUrl(int index) {
        return "http://" + addresses.get(index);
    }

    private String peerUrl(int index) {
        return "http://" + ConsensusService.HOST + ":" + ownPort(index, 0);
    }

    /** Its health includes a leader, and a write that a quorum has committed. */
    @Override
    boolean isServing(int index) {
        try {
            HttpURLConnection http = (HttpURLConnection) URI.create(clientUrl(index) + "/health")
                    .toURL()
                    .openConnection();
            http.setConnectTimeout(PROBE_LIMIT_MS);
            http.setReadTimeout(PROBE_LIMIT_MS);
            try (InputStream in = http.getInputStream()) {
                return new String(in.readAllBytes(), StandardCharsets.UTF_8).contains("\"health\":\"true\"");
            }
        } catch (IOException e) {
            return false;
        }
    }
}
