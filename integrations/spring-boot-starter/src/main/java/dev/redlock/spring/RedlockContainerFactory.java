package dev.redlock.spring;

import java.util.List;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionDetailsFactory;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionSource;
import org.testcontainers.containers.Container;

/**
 * The node of a container with {@code @ServiceConnection(name = "redlock")}, or with this type of connection details.
 *
 * @threading immutable
 */
final class RedlockContainerFactory
        extends
            ContainerConnectionDetailsFactory<Container<?>, RedlockConnectionDetails> {

    RedlockContainerFactory() {
        super(ContainerNode.DEDICATED);
    }

    /** A source that names types accepts only these. One without accepts any, also a type that no factory has. */
    @Override
    protected boolean sourceAccepts(ContainerConnectionSource<Container<?>> source, Class<?> containerType,
            Class<?> detailsType) {
        boolean isTyped = !source.accepts(ANY_CONNECTION_NAME, containerType, ServerConnectionDetails.class);
        return super.sourceAccepts(source, containerType, detailsType)
                || isTyped && ServerContainerFactory.isServer(source, containerType, detailsType);
    }

    @Override
    protected RedlockConnectionDetails getContainerConnectionDetails(ContainerConnectionSource<Container<?>> source) {
        return new Details(source);
    }

    /** @threading any thread */
    private static final class Details extends ContainerConnectionDetails<Container<?>>
            implements
                RedlockConnectionDetails {

        Details(ContainerConnectionSource<Container<?>> source) {
            super(source);
        }

        private ContainerNode node() {
            return ServerContainerFactory.nodeOf(getContainer(), getSslBundle() != null);
        }

        @Override
        public List<String> getNodes() {
            return node().getNodes();
        }

        @Override
        public String getPassword() {
            return node().password();
        }
    }
}
