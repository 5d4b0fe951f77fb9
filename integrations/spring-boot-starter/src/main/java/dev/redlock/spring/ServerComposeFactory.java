package dev.redlock.spring;

import org.springframework.boot.docker.compose.core.RunningService;
import org.springframework.boot.docker.compose.service.connection.DockerComposeConnectionDetailsFactory;
import org.springframework.boot.docker.compose.service.connection.DockerComposeConnectionSource;

/**
 * The node of a service of Docker Compose with Redis or Valkey.
 *
 * @threading immutable
 */
final class ServerComposeFactory extends DockerComposeConnectionDetailsFactory<ServerConnectionDetails> {

    ServerComposeFactory() {
        super(ContainerNode.IMAGES.toArray(String[]::new));
    }

    static ContainerNode nodeOf(RunningService service, boolean isTls) {
        return new ContainerNode(service.host(), service.ports().get(ContainerNode.PORT), isTls,
                ContainerNode.passwordOf(service.image().getName(), service.env()));
    }

    @Override
    protected ServerConnectionDetails getDockerComposeConnectionDetails(DockerComposeConnectionSource source) {
        return new Details(source.getRunningService());
    }

    /** @threading immutable */
    private static final class Details extends DockerComposeConnectionDetails implements ServerConnectionDetails {

        private final ContainerNode node;

        Details(RunningService service) {
            super(service);
            node = nodeOf(service, getSslBundle(service) != null);
        }

        @Override
        public RedlockConnectionDetails asNode() {
            return node;
        }
    }
}
