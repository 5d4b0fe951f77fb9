package dev.redlock.spring;

import java.util.List;
import org.springframework.boot.docker.compose.core.RunningService;
import org.springframework.boot.docker.compose.service.connection.DockerComposeConnectionDetailsFactory;
import org.springframework.boot.docker.compose.service.connection.DockerComposeConnectionSource;

/**
 * The node of a service of Docker Compose whose label {@code org.springframework.boot.service-connection} is
 * {@code redlock}.
 *
 * @threading immutable
 */
final class RedlockComposeFactory extends DockerComposeConnectionDetailsFactory<RedlockConnectionDetails> {

    RedlockComposeFactory() {
        super(ContainerNode.DEDICATED);
    }

    @Override
    protected RedlockConnectionDetails getDockerComposeConnectionDetails(DockerComposeConnectionSource source) {
        return new Details(source.getRunningService());
    }

    /** @threading immutable */
    private static final class Details extends DockerComposeConnectionDetails implements RedlockConnectionDetails {

        private final ContainerNode node;

        Details(RunningService service) {
            super(service);
            node = ServerComposeFactory.nodeOf(service, getSslBundle(service) != null);
        }

        @Override
        public List<String> getNodes() {
            return node.getNodes();
        }

        @Override
        public String getPassword() {
            return node.password();
        }
    }
}
