using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Reads a list.</summary>
/// <remarks>Of a held key, or inside of a <see cref="IValueRead"/>: then bytes may be torn until the read has
/// succeeded, and only <see cref="Count"/> and <see cref="TryGet"/> may be used.</remarks>
internal readonly unsafe ref struct ListView
{
    private readonly LargeList _list;
    private readonly byte* _leaf;
    private readonly int _room;

    public ListView(scoped in ValueView value)
    {
        if (value.Kind == ValueKind.PackedList)
        {
            _leaf = value.Content;
            _room = value.ContentBytes;
        }
        else
        {
            _list = new LargeList(value.Region);
        }
    }

    /// <summary>Elements of the list.</summary>
    public long Count => _leaf != null ? ListLeaf.CountIn(_leaf, _room) : _list.Count;

    /// <summary>Whether it is one leaf in its record.</summary>
    public bool IsPacked => _leaf != null;

    private int Leaves => _leaf != null ? 1 : _list.Leaves;

    /// <summary>The element at a place.</summary>
    /// <param name="index">From 0 on; below 0 from the end on: -1 is the last.</param>
    /// <returns>False when there is none.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryGet(long index, out ReadOnlySpan<byte> element)
    {
        if (_leaf != null)
            return ListLeaf.TryGet(_leaf, _room, index >= 0 ? index : ListLeaf.CountIn(_leaf, _room) + index,
                out element);
        return TryGetFromLarge(index, out element);
    }

    private bool TryGetFromLarge(long index, out ReadOnlySpan<byte> element)
    {
        long count = _list.Count;
        if (index < 0) index += count;
        bool isThere = (ulong)index < (ulong)count;
        element = isThere ? _list[index] : default;
        return isThere;
    }

    /// <summary>The elements from a place on, one after another. No change in between.</summary>
    /// <param name="index">From 0 to <see cref="Count"/> - 1.</param>
    /// <param name="backwards">Towards the first.</param>
    public Walk GetWalk(long index = 0, bool backwards = false) => new(this, index, backwards);

    private ListLeaf Leaf(int number) => _leaf != null ? new ListLeaf(_leaf) : _list.Leaf(number);

    /// <summary>A walk over elements.</summary>
    public ref struct Walk
    {
        private readonly ListView _list;
        private readonly bool _backwards;
        private ListLeaf _leaf;
        private int _number, _place, _count;

        internal Walk(ListView list, long index, bool backwards)
        {
            _list = list;
            _backwards = backwards;
            if (list.Count == 0) return;
            if (list.IsPacked) _place = (int)index;
            else _number = list._list.Find(index, out _place);
            Enter(_number);
        }

        /// <summary>The next one.</summary>
        /// <returns>False at the end.</returns>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public bool Next(out ReadOnlySpan<byte> element)
        {
            if ((uint)_place >= (uint)_count && !NextLeaf())
            {
                element = default;
                return false;
            }

            element = _leaf[_place];
            _place += _backwards ? -1 : 1;
            return true;
        }

        private bool NextLeaf()
        {
            int number = _number + (_backwards ? -1 : 1);
            if ((uint)number >= (uint)_list.Leaves || _count == 0) return false;
            Enter(number);
            _place = _backwards ? _count - 1 : 0;
            return true;
        }

        private void Enter(int number)
        {
            _number = number;
            _leaf = _list.Leaf(number);
            _count = _leaf.IsAlone ? 1 : _leaf.Count;
        }
    }
}
