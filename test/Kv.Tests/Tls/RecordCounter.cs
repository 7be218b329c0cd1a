namespace Kv.Tests.Tls;

/// <summary>Remembers of which type the last record of TLS 1.2 is that has come through.</summary>
internal sealed class RecordCounter(Stream inner) : Stream
{
    private readonly byte[] _head = new byte[5];
    private int _headCount, _left;

    public int LastType { get; private set; }

    public override bool CanRead => true;

    public override bool CanWrite => true;

    public override bool CanSeek => false;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override int Read(byte[] buffer, int offset, int count)
    {
        int read = inner.Read(buffer, offset, count);
        foreach (byte each in buffer.AsSpan(offset, read)) Take(each);
        return read;
    }

    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        int read = await inner.ReadAsync(buffer, cancellationToken);
        foreach (byte each in buffer.Span[..read]) Take(each);
        return read;
    }

    public override void Write(byte[] buffer, int offset, int count) => inner.Write(buffer, offset, count);

    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default) =>
        inner.WriteAsync(buffer, cancellationToken);

    public override void Flush() => inner.Flush();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    private void Take(byte each)
    {
        if (_left > 0)
        {
            _left--;
            return;
        }

        _head[_headCount++] = each;
        if (_headCount < _head.Length) return;
        _headCount = 0;
        LastType = _head[0];
        _left = (_head[3] << 8) | _head[4];
    }
}
