using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RespBenchmark.Workload;

//  *2 $3 GET $8 00000042  *2 $3 GET $8 00000317  *2 $3 GET $8 …
//               ^^^^^^^^               ^^^^^^^^                 the only bytes that are written, field by field

/// <summary>The usual case, fast: one command of constant layout. The image holds it as often as it fits; only what
/// varies is written, column by column.</summary>
/// <remarks>Cost: two virtual calls a field for 256 commands, then tight loops; a GET of 8 digits takes 2 to 3
/// ns.</remarks>
internal sealed class ColumnSource : RequestSource
{
    private const int Rows = 256;       // 2 KiB a column: both loops find it in the first cache

    private readonly byte[] _image;
    private readonly FieldWriter[] _fields;
    private readonly (int Offset, int Width)[] _gaps;
    private readonly Schedule _schedule;
    private readonly int _stride, _capacity, _keyField;
    private readonly long[] _column = new long[Rows];
    private readonly long[] _keys;

    public ColumnSource(Section section, FieldWriter[] fields, Schedule schedule, bool tracksKeys)
    {
        byte[] command = section.Fixed!;
        _fields = fields;
        _gaps = section.Gaps;
        _schedule = schedule;
        _stride = command.Length;
        _capacity = ImageBytes / _stride;
        _image = GC.AllocateUninitializedArray<byte>(_capacity * _stride, pinned: true);
        for (int index = 0; index < _capacity; index++) command.CopyTo(_image, index * _stride);
        _keyField = tracksKeys ? section.KeyPlace - section.FirstPlace : -1;
        if (tracksKeys && section.KeyPlace < 0) _keyField = -1;
        _keys = tracksKeys ? new long[_capacity] : [];
        Array.Fill(_keys, -1);
    }

    public static bool CanServe(IReadOnlyList<UnitShape> units) =>
        units is [{ Commands: 1, Sections: [{ Times: 1, Fixed: not null } section] }]
        && section.Fields.All(field => field.IsFree);

    public override RequestChunk Render(ref SessionStream session, int commandsMax)
    {
        int wanted = Math.Min(commandsMax, _capacity), done = 0;
        while (done < wanted)
        {
            int rows = _schedule.Take(ref session, Math.Min(Rows, wanted - done), out _);
            if (rows == 0) break;
            Fill(ref session, done, rows);
            session.Begun += rows;
            session.InBatch += rows;
            done += rows;
        }

        return new RequestChunk
        {
            Bytes = new ReadOnlySpan<byte>(_image, 0, done * _stride),
            Commands = done,
            Keys = _keys.Length > 0 ? new ReadOnlySpan<long>(_keys, 0, done) : default,
        };
    }

    private void Fill(ref SessionStream session, int firstRow, int rows)
    {
        ref byte row = ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(_image), firstRow * _stride);
        Span<long> column = _column.AsSpan(0, rows);
        for (int field = 0; field < _fields.Length; field++)
        {
            (int offset, int width) = _gaps[field];
            _fields[field].DrawColumn(ref session, column);
            if (width > 0) _fields[field].WriteColumn(column, ref Unsafe.Add(ref row, offset), _stride, width);
            if (field == _keyField) column.CopyTo(_keys.AsSpan(firstRow));
        }
    }

    public override void Dispose()
    {
    }
}
