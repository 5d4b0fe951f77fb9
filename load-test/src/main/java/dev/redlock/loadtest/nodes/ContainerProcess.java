package dev.redlock.loadtest.nodes;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.command.WaitContainerResultCallback;
import com.github.dockerjava.api.exception.DockerClientException;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.api.exception.NotFoundException;
import java.io.IOException;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.testcontainers.containers.GenericContainer;

/**
 * A server in a container: the engine passes the signals on.
 *
 * @threading caller-confined to the {@link RedisNode} that owns it
 */
final class ContainerProcess implements NodeProcess {
    private final GenericContainer<?> container;
    private final DockerClient docker;
    private final String id;

    ContainerProcess(GenericContainer<?> container) {
        this.container = container;
        this.docker = container.getDockerClient();
        this.id = container.getContainerId();
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
