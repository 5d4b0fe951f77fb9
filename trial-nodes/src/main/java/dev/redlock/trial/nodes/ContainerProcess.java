package dev.redlock.trial.nodes;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.command.WaitContainerResultCallback;
import com.github.dockerjava.api.exception.DockerClientException;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.model.ExposedPort;
import com.github.dockerjava.api.model.PortBinding;
import com.github.dockerjava.api.model.Ports;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.AbstractWaitStrategy;
import org.testcontainers.images.builder.Transferable;
import org.testcontainers.utility.DockerImageName;

/**
 * A node in a container of its own, its port published on loopback: the engine passes the signals on.
 *
 * @threading caller-confined to the {@link RedisNode} that owns it
 */
final class ContainerProcess implements NodeProcess {
    static final String IMAGE_PROPERTY = "trial.nodes.image";
    static final String IMAGE_DEFAULT = "redis:7";

    private static final ExposedPort PORT_INSIDE = ExposedPort.tcp(6379);
    private static final String CONFIG_INSIDE = "/tmp/node.conf";

    private final GenericContainer<?> container;
    private final DockerClient docker;
    private final String id;

    ContainerProcess(GenericContainer<?> container) {
        this.container = container;
        this.docker = container.getDockerClient();
        this.id = container.getContainerId();
    }

    static NodeProcess.Launcher find(RedisNodesContext context) throws SourceRefusedException {
        if (context.unixSocket) {
            throw new SourceRefusedException("a Unix socket was asked for and does not cross a container's border");
        }
        if (context.tls) {
            throw new SourceRefusedException("TLS was asked for, whose files are outside of the container");
        }
        if (!context.place(0).equals(NodePlace.LOOPBACK)) {
            throw new SourceRefusedException("a network of the nodes' own was asked for, and containers have theirs");
        }
        if (!isEngineThere()) {
            throw new SourceRefusedException("no Docker engine answers");
        }
        return new NodeProcess.Launcher("image " + context.image, spec -> launch(context.image, spec));
    }

    private static boolean isEngineThere() throws SourceRefusedException {
        try {
            return DockerClientFactory.instance().isDockerAvailable();
        } catch (RuntimeException e) {
            throw new SourceRefusedException("the Docker client failed: " + e.getMessage());
        }
    }

    private static NodeProcess launch(String image, NodeSpec spec) throws IOException {
        GenericContainer<?> container = container(image, spec);
        try {
            container.start();
            return new ContainerProcess(container);
        } catch (RuntimeException e) {
            container.stop();
            throw new IOException("image " + image + " did not start: " + rootOf(e).getMessage(), e);
        }
    }

    private static GenericContainer<?> container(String image, NodeSpec spec) {
        GenericContainer<?> container = new GenericContainer<>(DockerImageName.parse(image));
        container.setWaitStrategy(new NoWait());
        container.setCommand("redis-server", CONFIG_INSIDE);
        container.withExposedPorts(PORT_INSIDE.getPort());
        container.withCopyToContainer(Transferable.of(config(spec)), CONFIG_INSIDE);
        container.withCreateContainerCmdModifier(command -> command.getHostConfig()
                .withPortBindings(
                        new PortBinding(Ports.Binding.bindIpAndPort("127.0.0.1", spec.port()), PORT_INSIDE)));
        return container;
    }

    private static String config(NodeSpec spec) {
        List<String> lines = new ArrayList<>(List.of("bind 0.0.0.0", "protected-mode no",
                "port " + PORT_INSIDE.getPort(), "dir /tmp", "daemonize no"));
        lines.addAll(spec.commonLines());
        return String.join("\n", lines) + "\n";
    }

    private static Throwable rootOf(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }

    /**
     * {@link RedisNode} waits for PONG itself.
     *
     * @threading any thread
     */
    private static final class NoWait extends AbstractWaitStrategy {
        @Override
        protected void waitUntilReady() {
            // Nothing to wait for.
        }
    }

    @Override
    public OptionalLong pid() {
        return OptionalLong.empty();
    }

    @Override
    public boolean isAlive() {
        try {
            return Boolean.TRUE.equals(docker.inspectContainerCmd(id).exec().getState().getRunning());
        } catch (NotFoundException e) {
            return false;
        }
    }

    @Override
    public boolean awaitEnd(Duration limit) {
        try (WaitContainerResultCallback ended = docker.waitContainerCmd(id).start()) {
            ended.awaitStatusCode(limit.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (DockerClientException e) {
            return false;
        } catch (IOException e) {
            return !isAlive();
        }
    }

    @Override
    public void terminate() {
        docker.killContainerCmd(id).withSignal("TERM").exec();
    }

    @Override
    public void kill() {
        if (isAlive()) {
            docker.killContainerCmd(id).exec();
        }
    }

    @Override
    public void pause() throws IOException {
        try {
            docker.pauseContainerCmd(id).exec();
        } catch (DockerException e) {
            throw new IOException("the engine did not pause the container: " + e.getMessage(), e);
        }
    }

    @Override
    public void resume() throws IOException {
        try {
            docker.unpauseContainerCmd(id).exec();
        } catch (DockerException e) {
            throw new IOException("the engine did not resume the container: " + e.getMessage(), e);
        }
    }

    @Override
    public String lastWords() {
        String[] lines = container.getLogs().split("\n");
        return lines[lines.length - 1];
    }

    @Override
    public NodeProcess again() throws IOException {
        try {
            docker.startContainerCmd(id).exec();
            return this;
        } catch (DockerException e) {
            throw new IOException("the engine did not start the container again: " + e.getMessage(), e);
        }
    }

    @Override
    public void discard() {
        container.stop();
    }
}
