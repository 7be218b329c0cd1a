using System.Buffers.Binary;
using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Reads what DUMP returned, as much at a time as one likes: first its checksum, then the value.</summary>
/// <remarks>No object: a short payload is read without a byte of the heap, a long one's reader moves there. Whoever
/// makes one disposes it.</remarks>
internal unsafe struct PayloadReader : IDisposable
{
    private const int BytesPerWork = 256;

    private readonly int _length;
    private RdbValueReader _reader;
    private byte* _payload;
    private ulong _crc;
    private int _checked;
    private bool _isRead;

    /// <param name="payload">Stays where it is, or <see cref="MoveTo"/> says where it is.</param>
    public PayloadReader(byte* payload, int length, Store store, long stringBytesMax)
    {
        _payload = payload;
        _length = length;
        _reader = new RdbValueReader(payload, Math.Max(0, length - DumpPayload.FooterBytes), store, stringBytesMax);
        Value = new RdbValue(store);
    }

    /// <summary>What became of it, when it is Ok; to be stored before the reader is disposed.</summary>
    public RdbValue Value;

    private readonly ReadOnlySpan<byte> Payload => new(_payload, _length);

    /// <summary>Says that the same bytes are elsewhere now.</summary>
    public void MoveTo(byte* payload)
    {
        _payload = payload;
        _reader.MoveTo(payload);
    }

    /// <summary>Reads, from where it left off.</summary>
    /// <param name="work">About how much to read, as elements of a list.</param>
    /// <returns>More: call again.</returns>
    public RdbStatus Read(long work)
    {
        Debug.Assert(work > 0, "each call reads something");
        if (!_isRead)
        {
            var checkedStatus = Check(ref work);
            if (checkedStatus != RdbStatus.Ok) return checkedStatus;
            _isRead = true;
        }

        if (work <= 0) return RdbStatus.More;
        var status = _reader.Read(ref Value, work);
        return status == RdbStatus.Ok && !_reader.IsAtEnd ? RdbStatus.BadData : status;
    }

    public void Dispose()
    {
        Value.Dispose();
        _reader.Dispose();
    }

    private RdbStatus Check(ref long work)
    {
        if (_checked == 0 && !DumpPayload.HasKnownVersion(Payload)) return RdbStatus.BadChecksum;
        int end = _length - sizeof(ulong), bytes =
            (int)Math.Min(end - _checked, work > int.MaxValue / BytesPerWork ? int.MaxValue : work * BytesPerWork);
        _crc = Crc64.Append(_crc, Payload.Slice(_checked, bytes));
        _checked += bytes;
        work -= bytes / BytesPerWork;
        if (_checked != end) return RdbStatus.More;
        return BinaryPrimitives.ReadUInt64LittleEndian(Payload[end..]) == _crc ? RdbStatus.Ok : RdbStatus.BadChecksum;
    }
}
