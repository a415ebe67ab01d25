# A small static image: the binary alone, for a user who is not root.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /pacsgp ./cmd/pacsgp \
    && mkdir -p /out/tmp /out/work && chmod 1777 /out/tmp && chown 65532:65532 /out/work

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /src/LICENSE /src/THIRD_PARTY.txt /
COPY --from=build /out /
COPY --from=build /pacsgp /pacsgp
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/pacsgp"]
