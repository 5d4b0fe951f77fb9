package dev.redlock.spring;

import java.util.Map;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.utility.DockerImageName;

/** A container that needs no Docker engine: its published port is that of a server on this machine. */
public class StubContainer extends GenericContainer<StubContainer> {

    /** The port of the server; 0 before a test has started one. */
    static int port;

    private final String image;
    private String password;

    public StubContainer(String image) {
        super(DockerImageName.parse(image));
        this.image = image;
    }

    StubContainer password(String variable) {
        password = variable;
        return this;
    }

    @Override
    public void start() {
        // The server runs already.
    }

    @Override
    public void stop() {
        // The test stops it.
    }

    @Override
    public String getHost() {
        return "127.0.0.1";
    }

    @Override
    public Integer getMappedPort(int inside) {
        return inside == 6379 ? port : -1;
    }

    @Override
    public String getDockerImageName() {
        return image;
    }

    @Override
    public Map<String, String> getEnvMap() {
        return password == null ? Map.of() : Map.of(password, "s3cr3t");
    }
}
